import { computed, type MaybeRefOrGetter, ref, toValue, watch } from 'vue'
import {
  InstallSdkDocument,
  RebuildSdkDocument,
  RemoveSdkDocument,
  type SdkChannel,
  SdkInstallLogDocument,
  SdkInstallPushesDocument,
  type SdkInstallRowFragment,
  type SdkInstallStatus,
  type SdkKind,
  type SdkProgressFragment,
  SdkReleasesDocument,
  SdksDocument,
  SetDefaultSdkDocument,
} from '../generated/graphql.ts'
import { useMutation, useQuery } from '../graphql.ts'
import { usePolled } from '../jobs/jobs.ts'
import { announce } from '../shared/announce.ts'
import { useLive } from '../shared/live.ts'
import { refreshTray } from '../shell/tray.ts'

export const kinds = { DART: 'Dart', FLUTTER: 'Flutter' } as const satisfies Record<SdkKind, string>
export const channels = { STABLE: 'Stable', BETA: 'Beta', DEV: 'Dev' } as const satisfies Record<SdkChannel, string>

/** The steps of an installation, in order. */
export const steps = [
  { status: 'DOWNLOADING', label: 'Download', now: 'Downloading' },
  { status: 'EXTRACTING', label: 'Extract', now: 'Extracting' },
  { status: 'PREPARING', label: 'Prepare', now: 'Preparing' },
  { status: 'READY', label: 'Ready', now: 'Ready' },
] as const satisfies { status: SdkInstallStatus; label: string; now: string }[]

/** Returns the name of an SDK, such as "Dart 3.5.0". */
export const sdkTitle = ({ kind, version }: Pick<SdkInstallRowFragment, 'kind' | 'version'>) => `${kinds[kind]} ${version}`

export const isInProgress = (status: SdkInstallStatus) => status !== 'READY' && status !== 'FAILED'

/** Polls the SDKs on this server and the free disk space. */
export function useSdks() {
  const { data, ...query } = usePolled(SdksDocument, {})
  return {
    ...query,
    installs: computed(() => data.value?.sdkInstalls),
    platform: computed(() => data.value?.sdkPlatform),
  }
}

/** Returns the available releases of a kind and channel. Queries only while `isWanted` is true. */
export function useReleases(wanted: { kind: SdkKind; channel: SdkChannel }, isWanted: MaybeRefOrGetter<boolean>) {
  const { data, ...query } = useQuery(SdkReleasesDocument, { variables: () => ({ kind: wanted.kind, channel: wanted.channel }), isWanted })
  return { ...query, releases: computed(() => data.value?.sdkReleases) }
}

export const useInstallSdk = () => useMutation(InstallSdkDocument)
export const useSetDefaultSdk = () => useMutation(SetDefaultSdkDocument)
export const useRebuildSdk = () => useMutation(RebuildSdkDocument)
export const useRemoveSdk = () => useMutation(RemoveSdkDocument)

/** Maximum number of installations with live progress. Each needs a connection, which browsers limit; the server runs one at a time. */
const maxFollowed = 2

/** Returns the IDs of the oldest unfinished installations, which the server processes first. */
export const followedOf = (installs: readonly SdkInstallRowFragment[]): ReadonlySet<string> =>
  new Set(
    installs
      .filter(({ status }) => isInProgress(status))
      .toSorted((a, b) => Date.parse(a.createdAt) - Date.parse(b.createdAt))
      .slice(0, maxFollowed)
      .map(({ id }) => id),
  )

interface ProgressOptions {
  /** Whether to subscribe to the progress of the installation. */
  isFollowed: () => boolean
  /** Whether the log is open. */
  isLogOpen: MaybeRefOrGetter<boolean>
  /** Called when the installation has completed or failed. */
  ended: () => void
}

/** Returns the progress of an installation: subscribes while the installation is running, and queries once when its log is opened later. */
export function useSdkProgress(install: () => SdkInstallRowFragment, { isFollowed, isLogOpen, ended }: ProgressOptions) {
  const progress = ref<SdkProgressFragment>()
  const isWanted = computed(() => isFollowed() && isInProgress(install().status))
  const variables = () => ({ id: install().uuid })
  const { data, retry } = useQuery(SdkInstallLogDocument, { variables, isWanted: () => isWanted.value || toValue(isLogOpen) })
  const setProgress = (latest: SdkProgressFragment | undefined | null) => void (progress.value = latest ?? undefined)
  watch(data, (answer) => setProgress(answer?.sdkInstallProgress), { immediate: true })
  useLive(SdkInstallPushesDocument, variables, { isWanted, changed: (pushed) => setProgress(pushed.sdkInstallProgress), poll: retry })
  const status = computed(() => progress.value?.status)
  watch(status, (now, before) => {
    if (!now || !before || !isInProgress(before)) return
    // The background work menu (tray) announces the end of an installation.
    const step = steps.find((one) => one.status === now && isInProgress(now))
    if (step) announce(`${sdkTitle(install())}: ${step.now.toLowerCase()}`)
    else ended()
    if (!isInProgress(now)) refreshTray()
  })
  watch(isWanted, (wanted) => wanted || retry())
  return { progress, rate: useRate(progress) }
}

/** Returns the average speed of the current step in bytes per second, or undefined during the first second. */
function useRate(progress: MaybeRefOrGetter<SdkProgressFragment | undefined>) {
  let first: { status: SdkInstallStatus; bytes: number; at: number } | undefined
  const rate = ref<number>()
  watch(
    () => toValue(progress),
    (latest) => {
      const at = performance.now()
      if (!latest || first?.status !== latest.status || latest.bytesDone < first.bytes) {
        first = latest && { status: latest.status, bytes: latest.bytesDone, at }
        rate.value = undefined
      } else if (at - first.at >= 1000) rate.value = (1000 * (latest.bytesDone - first.bytes)) / (at - first.at) || undefined
    },
    { immediate: true },
  )
  return rate
}

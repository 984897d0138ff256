import { useDocumentVisibility, useIntervalFn } from '@vueuse/core'
import { computed, ref, watch } from 'vue'
import { TrayDocument, type TrayQuery } from '../generated/graphql.ts'
import { useQuery } from '../graphql.ts'
import { isOfKind, type JobKind } from '../jobs/kinds.ts'
import { announce } from '../shared/announce.ts'
import { count, counted } from '../shared/format.ts'

/** Background work on the server that is running or was completed. */
export interface TrayEntry {
  key: string
  title: string
  text: string
  /** Progress from 0 to 100, if known. */
  percent?: number | undefined
  to: string
}
export interface EndedEntry extends TrayEntry {
  failed: boolean
}

/** Polling interval in milliseconds while work is running. While the server is idle, only every `idlePolls`th poll sends a query. */
const pollMs = 3000
const idlePolls = 10

const refreshRequests = ref(0)

/** Refreshes the tray immediately. Call this after starting background work or noticing its end. */
export const refreshTray = () => void refreshRequests.value++

/** Returns the running work, and the work that ended while this console was open and that the user has not dismissed. */
export function useTray() {
  const { data, retry } = useQuery(TrayDocument, { isBackground: true })
  const visibility = useDocumentVisibility()
  // Largest number of pending analyses since the queue was last empty: the 100 % of the scoring progress.
  const maxPending = ref(0)
  const running = computed(() => (data.value ? entriesOf(data.value, maxPending.value) : []))
  const ended = ref<EndedEntry[]>([])
  let polls = 0
  useIntervalFn(() => {
    polls++
    if (visibility.value === 'visible' && (running.value.length > 0 || polls % idlePolls === 0)) retry()
  }, pollMs)
  watch([refreshRequests, visibility], () => visibility.value === 'visible' && retry())
  watch(data, (latest) => {
    const left = latest ? pendingAnalyses(latest) : 0
    maxPending.value = left === 0 ? 0 : Math.max(maxPending.value, left)
  })
  watch(running, (now, before) => {
    for (const one of before) if (!now.some(({ key }) => key === one.key)) recordEnd(one)
  })
  function recordEnd(entry: TrayEntry) {
    const end = data.value && outcomeOf(entry, data.value)
    if (!end) return
    ended.value = [end, ...ended.value.filter(({ key }) => key !== end.key)].slice(0, 5)
    announce(`${end.title}: ${end.text}`)
  }
  const dismiss = (key: string) => void (ended.value = ended.value.filter((one) => one.key !== key))
  return { running, ended, dismiss }
}

const installPhases: Record<string, string> = { DOWNLOADING: 'Downloading', EXTRACTING: 'Extracting', PREPARING: 'Preparing' }
const pendingAnalyses = ({ scoringSettings }: TrayQuery) =>
  scoringSettings ? scoringSettings.workers.active + scoringSettings.workers.queued : 0
const titleOf = ({ kind, version }: NonNullable<TrayQuery['sdkInstalls']>[number]) => `${kind === 'DART' ? 'Dart' : 'Flutter'} ${version}`

function entriesOf(data: TrayQuery, maxPending: number): TrayEntry[] {
  const percentOf = (kind: JobKind, subject: string) => {
    const job = data.jobs?.nodes.find((one) => isOfKind(one, kind) && one.subject === subject)
    return job?.total ? Math.min(100, Math.floor((100 * job.done) / job.total)) : undefined
  }
  const installs = data.sdkInstalls?.flatMap((install) => {
    const text = installPhases[install.status]
    const percent = percentOf('sdk.install', install.uuid)
    return text ? [{ key: install.id, title: titleOf(install), text: phaseText(text, percent), percent, to: '/admin/sdks' }] : []
  })
  const left = pendingAnalyses(data)
  const scoring = left > 0 ? [scoringEntry(left, Math.max(left, maxPending))] : []
  const checks = data.jobs?.nodes.filter((job) => isOfKind(job, 'integrity.check'))
  return [
    ...(installs ?? []),
    ...scoring,
    ...(checks ?? []).map(({ subject, done, total }) => ({
      key: 'integrity',
      title: 'Archive check',
      text: total ? `${count(done)} of ${counted(total, 'archive')}` : 'Running',
      percent: percentOf('integrity.check', subject),
      to: '/admin/self-check',
    })),
  ]
}

const phaseText = (phase: string, percent: number | undefined) => (percent === undefined ? phase : `${phase}, ${percent}%`)

const scoringEntry = (left: number, maxPending: number): TrayEntry => ({
  key: 'scoring',
  title: 'Scoring',
  text: `${counted(left, 'version')} left`,
  percent: maxPending > 1 ? Math.floor((100 * (maxPending - left)) / maxPending) : undefined,
  to: '/admin/scoring',
})

/** Returns the outcome of work that is no longer running, or undefined if the work was removed. */
function outcomeOf(entry: TrayEntry, { sdkInstalls }: TrayQuery): EndedEntry | undefined {
  const { percent, ...end } = entry
  // The analysis of a single version, such as a new one, is not reported here: the version's page shows the result.
  if (entry.key === 'scoring' && percent === undefined) return undefined
  if (entry.key === 'scoring' || entry.key === 'integrity') return { ...end, text: 'Completed', failed: false }
  const install = sdkInstalls?.find(({ id }) => id === entry.key)
  return install && { ...end, text: install.status === 'FAILED' ? 'Failed' : 'Ready', failed: install.status === 'FAILED' }
}

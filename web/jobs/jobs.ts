import { useDocumentVisibility, useIntervalFn } from '@vueuse/core'
import type { AnyVariables, TypedDocumentNode } from '@urql/vue'
import { computed, shallowRef, watch } from 'vue'
import {
  CancelJobDocument,
  JobGroupsDocument,
  type JobGroupsQuery,
  type JobRowFragment,
  JobsDocument,
  JobsOfGroupDocument,
  type JobState,
  RetryJobDocument,
  type SdkKind,
} from '../generated/graphql.ts'
import { useMutation, useQuery } from '../graphql.ts'
import { useCursorList } from '../shared/cursor-list.ts'
import { bytes, count } from '../shared/format.ts'
import { useQueryParam } from '../shared/query-param.ts'
import { isOfKind, jobKinds } from './kinds.ts'

/** Calls `poll` every 3 seconds while the page is visible. */
export function usePolling(poll: () => void) {
  const visibility = useDocumentVisibility()
  useIntervalFn(() => {
    if (visibility.value === 'visible') poll()
  }, 3000)
}

/** Polls a query. If the server does not respond, the last data is kept, so that forms based on it do not lose the user's input. */
export function usePolled<Result, Variables extends AnyVariables>(document: TypedDocumentNode<Result, Variables>, variables: Variables) {
  const { data: latest, loading, ...query } = useQuery(document, { variables })
  const data = shallowRef<Result>()
  watch(latest, (answer) => answer && (data.value = answer), { immediate: true, flush: 'sync' })
  usePolling(query.retry)
  return { ...query, data, loading: computed(() => loading.value && data.value === undefined) }
}

export const jobStates = {
  QUEUED: { label: 'Queued', icon: 'i-lucide-clock', color: 'neutral' },
  RUNNING: { label: 'Running', icon: 'i-lucide-loader', color: 'info' },
  DONE: { label: 'Done', icon: 'i-lucide-circle-check', color: 'success' },
  FAILED: { label: 'Failed', icon: 'i-lucide-circle-x', color: 'error' },
} as const satisfies Record<JobState, object>

/** Returns the label of the kind of a job. */
export const kindLabel = ({ kind }: Pick<JobRowFragment, 'kind'>): string => jobKinds[kind]?.label ?? kind

const sdkKinds: Record<SdkKind, string> = { DART: 'Dart', FLUTTER: 'Flutter' }

/** Returns what a job is about in words, such as a version, an SDK or a publisher; an empty string if it has no name or no longer exists. */
export function jobSubject(job: JobRowFragment): string {
  const { subject, version, sdk } = job
  if (version?.package) return `${version.package.name} ${version.version}`
  if (sdk) return `${sdkKinds[sdk.kind]} ${sdk.version}`
  return isOfKind(job, 'publisher.domain-check') ? subject : ''
}

/** Returns the kind and the subject of a job, for labels and messages. */
export const jobTitle = (job: JobRowFragment) => [kindLabel(job), jobSubject(job)].filter(Boolean).join(': ')

/** Returns the phase and the progress of a job, in bytes for downloads. For a failed job, the phase shows where it failed. */
export function jobProgress(job: JobRowFragment): string {
  const { done, total, phase, state } = job
  const amount = isSdkInstall(job) ? bytes : count
  const words = phase && state !== 'DONE' ? (phases[phase] ?? phase) : ''
  const numbers = done || total ? `${amount(done)}${total ? ` of ${amount(total)}` : ''}` : ''
  return [words, numbers].filter(Boolean).join(': ')
}

/** Labels of the known phases of jobs. */
const phases: Record<string, string> = {
  analyzing: 'Analyzing',
  storing: 'Storing the result',
  pana: 'Running pana',
  archives: 'Checking archives',
  orphans: 'Looking for orphaned files',
  downloading: 'Downloading',
  extracting: 'Extracting',
  preparing: 'Preparing',
}

/** Whether a job installs an SDK. Such jobs are cancelled on the SDKs page; otherwise the SDK would stay pending without a job. */
export const isSdkInstall = (job: Pick<JobRowFragment, 'kind'>) => isOfKind(job, 'sdk.install')

/** Returns the filters in the URL parameters `state` and `kind`. */
export function useJobFilters() {
  const resets = ['after']
  const state = useQueryParam<JobState | 'any'>('state', 'any', { allowed: ['any', 'QUEUED', 'RUNNING', 'DONE', 'FAILED'], resets })
  const kind = useQueryParam<string>('kind', 'any', { resets })
  const isFiltered = computed(() => state.value !== 'any' || kind.value !== 'any')
  return { state, kind, isFiltered }
}

/** Polls the jobs that match the filters in the URL. */
export function useJobs() {
  const { state, kind } = useJobFilters()
  const { list } = useCursorList({
    document: JobsDocument,
    variables: (after) => ({
      state: state.value === 'any' ? null : state.value,
      kind: kind.value === 'any' ? null : kind.value,
      after,
    }),
    connection: (answer) => answer.jobs,
  })
  usePolling(list.retry)
  return { list }
}

export const useCancelJob = () => useMutation(CancelJobDocument)
export const useRetryJob = () => useMutation(RetryJobDocument)

/** Returns the progress of a job from 0 to 100, or undefined if it is unknown. */
export const jobPercent = ({ done, total }: Pick<JobRowFragment, 'done' | 'total'>) =>
  total ? Math.min(100, Math.floor((100 * done) / total)) : undefined

export type JobGroup = NonNullable<JobGroupsQuery['jobGroups']>[number]

/** Polls the numbers of jobs by kind and state: failed and running ones first. */
export function useJobGroups() {
  const { data, ...query } = usePolled(JobGroupsDocument, {})
  const order: JobState[] = ['FAILED', 'RUNNING', 'QUEUED', 'DONE']
  const groups = computed(() =>
    data.value?.jobGroups?.toSorted((one, other) => order.indexOf(one.state) - order.indexOf(other.state) || other.count - one.count),
  )
  return { ...query, groups }
}

/** Polls the newest jobs of a group. */
export function useJobsOfGroup({ kind, state }: JobGroup) {
  const { data, ...query } = usePolled(JobsOfGroupDocument, { kind, state })
  return { ...query, jobs: computed(() => data.value?.jobs?.nodes), total: computed(() => data.value?.jobs?.totalCount ?? 0) }
}

/** "Analyzed 122 versions", "Failed to install 1 SDK". */
export function groupText({ kind, state, count: amount }: JobGroup): string {
  const { verbs, one, many } = jobKinds[kind] ?? { verbs: ['do', 'Doing', 'Did'], one: `job ${kind}`, many: `jobs ${kind}` }
  const what = `${count(amount)} ${amount === 1 ? one : many}`
  const [verb, now, past] = verbs
  if (state === 'FAILED') return `Failed to ${verb} ${what}`
  if (state === 'QUEUED') return `Waiting to ${verb} ${what}`
  return `${state === 'RUNNING' ? now : past} ${what}`
}

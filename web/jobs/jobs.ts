import { useDocumentVisibility, useIntervalFn } from '@vueuse/core'
import type { AnyVariables, TypedDocumentNode } from '@urql/vue'
import { computed, shallowRef, watch } from 'vue'
import { CancelJobDocument, type JobRowFragment, JobsDocument, type JobState, RetryJobDocument } from '../generated/graphql.ts'
import { useMutation, useQuery } from '../graphql.ts'
import { useCursorList } from '../shared/cursor-list.ts'
import { useQueryParam } from '../shared/query-param.ts'

/** Calls `poll` every 3 seconds while the page is visible. */
export function usePolling(poll: () => void) {
  const visibility = useDocumentVisibility()
  useIntervalFn(() => {
    if (visibility.value === 'visible') poll()
  }, 3000)
}

/** Polls a query. If the server does not respond, the last data is kept, so that forms based on it do not lose the user's input. */
export function usePolled<Result, Variables extends AnyVariables>(document: TypedDocumentNode<Result, Variables>, variables: Variables) {
  const { data: latest, loading, ...query } = useQuery(document, variables)
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

/** Labels of the known kinds of jobs. Other kinds are shown by their identifier. */
export const jobKinds: Record<string, string> = {
  analysis: 'Analyze a version',
  'analysis.pana': 'Analyze with pana',
  'archives.remove': 'Remove archives',
  backup: 'Back up',
  'integrity.check': 'Check archives',
  'publisher.domain-check': 'Look up a domain',
  'sdk.install': 'Install an SDK',
  'sdk.remove': 'Remove an SDK',
}

export const nameOf = ({ kind }: Pick<JobRowFragment, 'kind'>) => jobKinds[kind] ?? kind

/** Returns the subject of a job: package name and version if the job concerns a version, otherwise the subject's identifier. */
export const subjectOf = ({ subject, version }: JobRowFragment) =>
  version?.package ? `${version.package.name} ${version.version}` : subject

/** Whether a job installs an SDK. Such jobs are cancelled on the SDKs page; otherwise the SDK would stay pending without a job. */
export const isSdkInstall = ({ kind }: Pick<JobRowFragment, 'kind'>) => kind === 'sdk.install'

/** Polls the jobs, filtered by the URL parameters `state` and `kind`. */
export function useJobs() {
  const resets = ['after']
  const state = useQueryParam<JobState | 'any'>('state', 'any', { allowed: ['any', 'QUEUED', 'RUNNING', 'DONE', 'FAILED'], resets })
  const kind = useQueryParam<string>('kind', 'any', { resets })
  const { list, data } = useCursorList({
    document: JobsDocument,
    variables: (after) => ({
      state: state.value === 'any' ? null : state.value,
      kind: kind.value === 'any' ? null : kind.value,
      after,
    }),
    connection: (answer) => answer.jobs,
  })
  usePolling(list.retry)
  const isFiltered = computed(() => state.value !== 'any' || kind.value !== 'any')
  return { list, state, kind, isFiltered, counts: computed(() => data.value?.jobCounts) }
}

export const useCancelJob = () => useMutation(CancelJobDocument)
export const useRetryJob = () => useMutation(RetryJobDocument)

/** Returns the progress of a job from 0 to 100, or undefined if it is unknown. */
export const percentOf = ({ done, total }: Pick<JobRowFragment, 'done' | 'total'>) =>
  total ? Math.min(100, Math.floor((100 * done) / total)) : undefined

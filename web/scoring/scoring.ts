import { computed } from 'vue'
import {
  ClearScoringLogDocument,
  RescoreAllVersionsDocument,
  ScoreRemainingVersionsDocument,
  ScoringAdministrationDocument,
  ScoringLogDocument,
  type ScoringLogLevel,
  type ScoringLogLineFragment,
  UpdateScoringSettingsDocument,
} from '../generated/graphql.ts'
import { useMutation } from '../graphql.ts'
import { usePolled, usePolling } from '../jobs/jobs.ts'
import { useCursorList } from '../shared/cursor-list.ts'
import { useQueryParam } from '../shared/query-param.ts'

export type LogLine = ScoringLogLineFragment & { id: string }

export const logLevels = {
  INFO: { label: 'Info', icon: 'i-lucide-info', color: 'neutral' },
  WARNING: { label: 'Warning', icon: 'i-lucide-triangle-alert', color: 'warning' },
  ERROR: { label: 'Error', icon: 'i-lucide-circle-x', color: 'error' },
} as const satisfies Record<ScoringLogLevel, object>

/** Polls the scoring settings, the coverage and the default SDKs. */
export function useScoring() {
  const { data, ...query } = usePolled(ScoringAdministrationDocument, {})
  return {
    ...query,
    settings: computed(() => data.value?.scoringSettings),
    defaults: computed(() => data.value?.sdkInstalls?.filter(({ isDefault }) => isDefault) ?? []),
  }
}

/** Polls the scoring log, filtered by the URL parameters `level` and `package`. */
export function useScoringLog() {
  const resets = ['after']
  const level = useQueryParam<ScoringLogLevel | 'any'>('level', 'any', { allowed: ['any', 'INFO', 'WARNING', 'ERROR'], resets })
  const pkg = useQueryParam<string>('package', '', { resets, replace: true })
  const { list } = useCursorList({
    document: ScoringLogDocument,
    variables: (after) => ({ level: level.value === 'any' ? null : level.value, package: pkg.value.trim() || null, after }),
    connection: ({ scoringLog }) =>
      scoringLog && {
        nodes: scoringLog.edges.map(({ cursor, node }): LogLine => ({ id: cursor, ...node })),
        pageInfo: scoringLog.pageInfo,
      },
  })
  usePolling(list.retry)
  return { list, level, pkg, isFiltered: computed(() => level.value !== 'any' || pkg.value !== '') }
}

export const useUpdateScoringSettings = () => useMutation(UpdateScoringSettingsDocument)
export const useScoreRemaining = () => useMutation(ScoreRemainingVersionsDocument)
export const useRescoreAll = () => useMutation(RescoreAllVersionsDocument)
export const useClearScoringLog = () => useMutation(ClearScoringLogDocument)

import { computed, watch } from 'vue'
import {
  RegenerateDocumentationDocument,
  RescoreVersionDocument,
  ScoreLogDocument,
  type ScoreStateFragment,
  type VersionDetailsFragment,
  VersionScoreChangedDocument,
  VersionScoreDocument,
} from '../generated/graphql.ts'
import { useMutation, useQuery } from '../graphql.ts'
import { usePackageParams, useShownVersion } from '../package/package.ts'
import { useLive } from '../shared/live.ts'
import { isBeingScored } from './score-labels.ts'

type AnalysisState = Pick<VersionDetailsFragment, 'version'> & {
  score: Pick<ScoreStateFragment, 'status' | 'finishedAt' | 'awaitsPana'>
  apiDocumentation: Pick<VersionDetailsFragment['apiDocumentation'], 'state'>
}
const stateOf = ({ score, apiDocumentation }: Omit<AnalysisState, 'version'>) =>
  [score.status, score.finishedAt, score.awaitsPana, apiDocumentation.state].join(' ')

/** Calls `reload` when the analysis or the documentation of the displayed version makes progress. */
export function useScoreChanges(name: () => string, version: () => VersionDetailsFragment | undefined, reload: () => void) {
  useLive(VersionScoreChangedDocument, () => ({ name: name(), version: version()?.version ?? '0.0.0' }), {
    isWanted: () => {
      const { score, apiDocumentation } = version() ?? {}
      return score !== undefined && (isBeingScored(score.status) || score.awaitsPana || isBeingScored(apiDocumentation?.state ?? ''))
    },
    changed: ({ versionScoreChanged }) => {
      const shown = version()
      if (shown && versionScoreChanged.id === shown.id && stateOf(versionScoreChanged) !== stateOf(shown)) reload()
    },
    poll: reload,
  })
}

/** Returns the report of the displayed version. Refetches when the state of the analysis changes. */
export function useVersionScore() {
  const packageParams = usePackageParams()
  const shown = useShownVersion()
  const { data, ...state } = useQuery(VersionScoreDocument, { variables: packageParams })
  watch(
    () => shown.value && stateOf(shown.value),
    (_now, before) => before !== undefined && state.retry(),
  )
  const pkg = computed(() => data.value?.package)
  return { ...state, version: computed(() => pkg.value?.version ?? pkg.value?.displayedVersion ?? undefined), pkg }
}

/** Returns the output of the analysis engine. Queries only while `isWanted` is true. */
export function useScoreLog(version: () => { name: string; version: string }, isWanted: () => boolean) {
  const { data, ...state } = useQuery(ScoreLogDocument, { variables: version, isWanted })
  return { ...state, log: computed(() => data.value && (data.value.package?.version?.score.log ?? null)) }
}

export const useRescore = () => useMutation(RescoreVersionDocument)
export const useRegenerateDocumentation = () => useMutation(RegenerateDocumentationDocument)

import { computed } from 'vue'
import { useRoute } from 'vue-router'
import {
  AdvisoriesDocument,
  type AdvisorySeverity,
  ImportAdvisoriesDocument,
  PackageAdvisoriesDocument,
  RemoveAdvisoryDocument,
  WithdrawAdvisoryDocument,
} from '../generated/graphql.ts'
import { useMutation, useQuery } from '../graphql.ts'
import { counted } from '../shared/format.ts'
import { useCursorList } from '../shared/cursor-list.ts'
import { useQueryParam } from '../shared/query-param.ts'

export const advisorySeverities = {
  LOW: { label: 'Low', color: 'info' },
  MODERATE: { label: 'Moderate', color: 'warning' },
  HIGH: { label: 'High', color: 'error' },
  CRITICAL: { label: 'Critical', color: 'error' },
} as const satisfies Record<AdvisorySeverity, object>

/** Returns the security advisories of the package in the URL. */
export function usePackageAdvisories() {
  const route = useRoute()
  const { data, ...state } = useQuery(PackageAdvisoriesDocument, { variables: () => ({ name: String(route.params.name) }) })
  return { ...state, advisories: computed(() => data.value?.package?.advisories) }
}

/** Returns a page of all security advisories, filtered by the URL parameters `package` and `after`. */
export function useAdvisories() {
  const pkg = useQueryParam<string>('package', '', { resets: ['after'], replace: true })
  const { list } = useCursorList({
    document: AdvisoriesDocument,
    variables: (after) => ({ package: pkg.value || null, after }),
    connection: (data) => data.advisories,
  })
  return { list, pkg }
}

export const useImportAdvisories = () => useMutation(ImportAdvisoriesDocument)
export const useWithdrawAdvisory = () => useMutation(WithdrawAdvisoryDocument)
export const useRemoveAdvisory = () => useMutation(RemoveAdvisoryDocument)

/** Abbreviates a list of versions: "1.0.0, 1.1.0, 1.2.0 and 7 others, up to 2.3.0". */
export function abbreviateVersions(versions: readonly string[]): string {
  if (versions.length <= 5) return versions.join(', ')
  return `${versions.slice(0, 3).join(', ')} and ${counted(versions.length - 3, 'other')}, up to ${versions.at(-1)}`
}

import { computed } from 'vue'
import {
  type AuditRetentionFragment,
  AuditRetentionDocument,
  OlderAuditEntriesDocument,
  UpdateAuditRetentionDocument,
} from '../generated/graphql.ts'
import { useMutation, useQuery } from '../graphql.ts'

/** Value of the choice "Forever": entries are never deleted. */
export const forever = 0

/** Returns the retention period of audit entries. */
export function useRetention() {
  const { data, retry } = useQuery(AuditRetentionDocument)
  return { retention: computed(() => data.value?.auditRetention), retry }
}

/** Returns the number of entries older than `days`. Queries only while `isWanted` is true. */
export function useOlderEntries(days: () => number, isWanted: () => boolean) {
  const { data, loading, failure } = useQuery(OlderAuditEntriesDocument, { variables: () => ({ days: days() }), isWanted })
  const total = computed(() => (loading.value || failure.value ? undefined : data.value?.auditRetention?.entriesOlderThan))
  return { total, failure }
}

export const useUpdateRetention = () => useMutation(UpdateAuditRetentionDocument)

/** "for 365 days", "forever". */
export const retentionText = (days: number | null) => (days === null || days === forever ? 'forever' : `for ${days} days`)

const years = [1, 2, 3, 5, 7, 10]

/** Returns the retention periods to choose from: the minimum, several years, the current setting, and forever. */
export function retentionChoices({ days, minimumDays }: AuditRetentionFragment) {
  const offered = new Set([minimumDays, 180, ...years.map((number) => number * 365), ...(days == null ? [] : [days])])
  const label = (given: number) =>
    given % 365 === 0 ? `For ${given} days (${given / 365} year${given === 365 ? '' : 's'})` : `For ${given} days`
  return [
    { value: forever, label: 'Forever' },
    ...[...offered].toSorted((one, other) => one - other).map((value) => ({ value, label: label(value) })),
  ]
}

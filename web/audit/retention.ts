import { computed } from 'vue'
import {
  type AuditRetentionFragment,
  AuditRetentionDocument,
  OlderAuditEntriesDocument,
  UpdateAuditRetentionDocument,
} from '../generated/graphql.ts'
import { useMutation, useQuery } from '../graphql.ts'

/** The choice that deletes nothing. */
export const forever = 0

/** How long audit entries are kept. */
export function useRetention() {
  const { data, retry } = useQuery(AuditRetentionDocument, {})
  return { retention: computed(() => data.value?.auditRetention), retry }
}

/** How many entries are older than so many days, as long as somebody wants to know. */
export function useOlderEntries(days: () => number, isWanted: () => boolean) {
  const { data, loading, failure } = useQuery(OlderAuditEntriesDocument, () => ({ days: days() }), isWanted)
  const total = computed(() => (loading.value || failure.value ? undefined : data.value?.auditRetention.entriesOlderThan))
  return { total, failure }
}

export const useUpdateRetention = () => useMutation(UpdateAuditRetentionDocument)

/** "for 365 days", "forever". */
export const inWords = (days: number | null) => (days === null || days === forever ? 'forever' : `for ${days} days`)

const years = [1, 2, 3, 5, 7, 10]

/** What is offered: the shortest time, some years, what is set now, and forever. */
export function retentionChoices({ days, minimumDays }: AuditRetentionFragment) {
  const offered = new Set([minimumDays, 180, ...years.map((number) => number * 365), ...(days == null ? [] : [days])])
  const label = (given: number) =>
    given % 365 === 0 ? `For ${given} days (${given / 365} year${given === 365 ? '' : 's'})` : `For ${given} days`
  return [
    { value: forever, label: 'Forever' },
    ...[...offered].toSorted((one, other) => one - other).map((value) => ({ value, label: label(value) })),
  ]
}

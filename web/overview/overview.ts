import { computed } from 'vue'
import { ExpiringTokensDocument, RecentActionsDocument, type StatisticsQuery, StatisticsDocument } from '../generated/graphql.ts'
import { useQuery } from '../graphql.ts'
import { inDays } from '../shared/format.ts'

export type Statistics = NonNullable<StatisticsQuery['serverStatistics']>

/** Returns counts, storage use and uptime of the server. */
export function useStatistics() {
  const { data, ...state } = useQuery(StatisticsDocument)
  return { ...state, statistics: computed(() => data.value?.serverStatistics), version: computed(() => data.value?.server.version) }
}

/** Returns the tokens with the scope `admin` that expire within two weeks, and tokens that never expire. */
export function useExpiringTokens() {
  const { data, ...state } = useQuery(ExpiringTokensDocument, {
    variables: { now: new Date().toISOString(), soon: inDays(14).toISOString() },
  })
  return { ...state, lists: data }
}

/** Returns the newest changes that people made. Sign-ins would hide them. */
export function useRecentActions() {
  const { data, ...state } = useQuery(RecentActionsDocument)
  return { ...state, entries: computed(() => data.value?.auditEntries?.nodes) }
}

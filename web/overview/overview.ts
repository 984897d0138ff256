import { computed } from 'vue'
import {
  ExpiringTokensDocument,
  HealthDocument,
  type StatisticsQuery,
  StatisticsDocument,
  StoreNoticesDocument,
} from '../generated/graphql.ts'
import { useQuery } from '../graphql.ts'
import { inDays } from '../tokens/tokens.ts'

export type Statistics = StatisticsQuery['serverStatistics']

/** The health of the server's components. */
export function useHealth() {
  const { data, ...state } = useQuery(HealthDocument, {})
  return { ...state, health: computed(() => data.value?.health) }
}

/** How much there is, and where. */
export function useStatistics() {
  const { data, ...state } = useQuery(StatisticsDocument, {})
  return { ...state, statistics: computed(() => data.value?.serverStatistics), version: computed(() => data.value?.server.version) }
}

/** What administrators should do about the stored archives. */
export function useStoreNotices() {
  const { data } = useQuery(StoreNoticesDocument, {})
  return { faults: computed(() => data.value?.archiveFaults ?? []), heldBack: computed(() => data.value?.heldBackCollection) }
}

/** Tokens with the scope `admin` that expire within two weeks. */
export function useExpiringTokens() {
  const { data, ...state } = useQuery(ExpiringTokensDocument, { now: new Date().toISOString(), soon: inDays(14).toISOString() })
  return { ...state, tokens: computed(() => data.value?.accessTokens) }
}

import { computed } from 'vue'
import {
  BackupScheduleDocument,
  ExpiringTokensDocument,
  HealthDocument,
  type StatisticsQuery,
  StatisticsDocument,
  StoreNoticesDocument,
} from '../generated/graphql.ts'
import { useQuery } from '../graphql.ts'
import { inDays } from '../tokens/tokens.ts'

export type Statistics = StatisticsQuery['serverStatistics']

/** Returns the health of the server's components. */
export function useHealth() {
  const { data, ...state } = useQuery(HealthDocument, {})
  return { ...state, health: computed(() => data.value?.health) }
}

/** Returns counts, storage use and uptime of the server. */
export function useStatistics() {
  const { data, ...state } = useQuery(StatisticsDocument, {})
  return { ...state, statistics: computed(() => data.value?.serverStatistics), version: computed(() => data.value?.server.version) }
}

/** Returns problems with stored archives that need an administrator's attention. */
export function useStoreNotices() {
  const { data } = useQuery(StoreNoticesDocument, {})
  return { faults: computed(() => data.value?.archiveFaults ?? []), heldBack: computed(() => data.value?.heldBackCollection) }
}

/** Returns the schedule and the last results of automatic backups. */
export function useBackups() {
  const { data, ...state } = useQuery(BackupScheduleDocument, {})
  const schedule = computed(() => data.value?.backupSchedule)
  /** The last failure, unless a later backup succeeded. */
  const failed = computed(() => {
    const { lastFailure, lastSuccess } = schedule.value ?? {}
    return lastFailure && !(lastSuccess && lastSuccess.at > lastFailure.at) ? lastFailure : undefined
  })
  return { ...state, schedule, failed }
}

/** Returns the tokens with the scope `admin` that expire within two weeks. */
export function useExpiringTokens() {
  const { data, ...state } = useQuery(ExpiringTokensDocument, { now: new Date().toISOString(), soon: inDays(14).toISOString() })
  return { ...state, tokens: computed(() => data.value?.accessTokens) }
}

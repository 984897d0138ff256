import { computed } from 'vue'
import { BackupScheduleDocument, HealthDocument, StoreNoticesDocument } from '../generated/graphql.ts'
import { useQuery } from '../graphql.ts'

/** Returns the health of the server's components. */
export function useHealth() {
  const { data, ...state } = useQuery(HealthDocument)
  return { ...state, health: computed(() => data.value?.health) }
}

/** Returns problems with stored archives that need an administrator's attention. */
export function useStoreNotices() {
  const { data } = useQuery(StoreNoticesDocument)
  return { faults: computed(() => data.value?.archiveFaults ?? []), heldBack: computed(() => data.value?.heldBackCollection) }
}

/** Returns the schedule and the last results of automatic backups. */
export function useBackups() {
  const { data, ...state } = useQuery(BackupScheduleDocument)
  const schedule = computed(() => data.value?.backupSchedule)
  /** The last failure, unless a later backup succeeded. */
  const failed = computed(() => {
    const { lastFailure, lastSuccess } = schedule.value ?? {}
    return lastFailure && !(lastSuccess && lastSuccess.at > lastFailure.at) ? lastFailure : undefined
  })
  return { ...state, schedule, failed }
}

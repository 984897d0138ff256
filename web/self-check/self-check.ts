import { computed } from 'vue'
import { CheckIntegrityDocument, IntegrityDocument, SelfCheckDocument, type SelfCheckQuery } from '../generated/graphql.ts'
import { useMutation, useQuery } from '../graphql.ts'
import { bytes, duration } from '../shared/format.ts'
import { usePolling } from '../jobs/jobs.ts'
import { useSession } from '../sign-in/session.ts'

export type DatabaseReport = NonNullable<SelfCheckQuery['serverStatistics']>['database']

interface Fact {
  name: string
  value: string
  problem?: string | undefined
}

/** Tolerated clock difference in milliseconds. Only the server's clock decides when sessions and tokens expire. */
const toleratedMs = 60_000

/** Returns facts about the server's environment for display, compared with what this browser observes. */
export function useSelfCheck() {
  const { server } = useSession()
  const { data, ...query } = useQuery(SelfCheckDocument)
  const facts = computed(() => data.value?.selfCheck ?? undefined)
  const configuration = computed<Fact[]>(() =>
    (facts.value?.configuration ?? []).map((setting) => ({ ...setting, problem: setting.problem ?? undefined })),
  )
  const connection = computed<Fact[]>(() => {
    const { clientAddress, peerAddress, host, forwardedFor, forwardedProto, isSecure } = facts.value?.request ?? {}
    const url = server.value?.url ?? ''
    const here = new URL('.', document.baseURI).href.replace(/\/$/, '')
    const isElsewhere = new URL(url || here).origin !== location.origin
    const ignored = forwardedFor && clientAddress === peerAddress
    return [
      {
        name: 'SERVER_URL',
        value: url,
        problem: isElsewhere ? `This browser uses ${here}. Package clients and links use SERVER_URL.` : undefined,
      },
      { name: 'Host header', value: orNone(host) },
      { name: 'Connection from', value: orNone(peerAddress) },
      { name: 'X-Forwarded-For', value: orNone(forwardedFor) },
      { name: 'X-Forwarded-Proto', value: orNone(forwardedProto) },
      {
        name: 'Your address',
        value: orNone(clientAddress),
        problem: ignored ? 'A proxy forwards another address, which is ignored: see TRUST_PROXY.' : undefined,
      },
      { name: 'Encrypted', value: isSecure || location.protocol === 'https:' ? 'Yes' : 'No' },
    ]
  })
  const clocks = computed<Fact[]>(() => {
    const { server: serverTime = '', database = '' } = facts.value?.clocks ?? {}
    const now = new Date()
    return [
      { name: 'Server', value: serverTime, problem: clockProblem(serverTime, now.toISOString(), 'this browser') },
      { name: 'Database', value: database, problem: clockProblem(serverTime, database, 'the server') },
      { name: 'This browser', value: now.toISOString() },
    ]
  })
  const storage = computed<Fact[]>(() => {
    const { backend = '', path, problem, freeBytes } = facts.value?.storage ?? {}
    return [
      { name: 'Archives', value: path ? `${backend}: ${path}` : backend, problem: problem ?? undefined },
      { name: 'Free', value: freeBytes == null ? 'Not reported' : bytes(freeBytes) },
    ]
  })
  const database = computed(() => data.value?.serverStatistics?.database)
  /** Problems of the address and of the clocks, which only this browser can find. */
  const problems = computed(
    () => facts.value && [...connection.value, ...clocks.value].flatMap(({ name, problem }) => (problem ? [`${name}: ${problem}`] : [])),
  )
  return { ...query, facts, problems, configuration, connection, clocks, storage, database }
}

const orNone = (value: string | null | undefined) => value ?? 'None'

function clockProblem(one: string, other: string, whose: string): string | undefined {
  const ms = Math.abs(Date.parse(one) - Date.parse(other))
  return ms > toleratedMs ? `Differs by ${duration(Math.round(ms / 1000))} from the clock of ${whose}.` : undefined
}

/** Returns the result of the last archive check and the state of a running one. */
export function useIntegrity() {
  const { data, ...query } = useQuery(IntegrityDocument)
  const { run, running, failure: rejection } = useMutation(CheckIntegrityDocument)
  const latest = computed(() => data.value?.jobs?.nodes[0])
  const activeJob = computed(() => (latest.value && ['QUEUED', 'RUNNING'].includes(latest.value.state) ? latest.value : undefined))
  usePolling(() => activeJob.value && query.retry())
  async function check() {
    await run({})
    query.retry()
  }
  return {
    ...query,
    report: computed(() => data.value?.integrityReport),
    latest,
    activeJob,
    check,
    running,
    rejection,
  }
}

import { saveDecisions } from '../../server/registry/mirror/decisions.ts'
import { mirrorFiles } from '../../server/registry/mirror/entries.ts'
import { type MirrorPolicies, mirrorPolicies } from '../../server/registry/mirror/policies/settings.ts'
import { readSettingIn, writeSetting } from '../../server/platform/settings/service.ts'
import { type TestApp, testApp, type TestOptions } from '../app.ts'
import { PubClient } from './pub-client.ts'
import { publish } from './publish.ts'
import type { Upstream } from './upstream.ts'
import type { Actor } from '../actor.ts'

/** Starts a server that mirrors an upstream server. */
export const mirrorOf = (upstream: Upstream, options: TestOptions = {}): Promise<TestApp> =>
  testApp({ ...options, env: { UPSTREAM_URL: upstream.url, ...options.env } })

/** Hosted URL of the mirror of test servers. */
export const mirrorUrl = 'http://localhost:8080/mirror'

/** Returns a package client whose PUB_HOSTED_URL is the mirror of the server that listens at `address`. */
export const mirrorClient = (address: string, token?: string): PubClient =>
  new PubClient({ hostedUrl: mirrorUrl, address: `${address}/mirror`, ...(token !== undefined && { token }) })

/** Publishes a package whose name an administrator has approved, so that the upstream server is not asked for it. */
export async function publishOwn(app: TestApp, actor: Actor, contents: { name: string; version: string }): Promise<void> {
  const { status } = await (await app.admin()).put(`/api/admin/confusable-names/${contents.name}`)
  if (status !== 200) throw new Error(`Cannot approve ${contents.name}: ${status}`)
  await publish(actor, contents)
}

type PolicyChange = { [Rule in keyof MirrorPolicies]?: Partial<MirrorPolicies[Rule]> }

/** Changes fields of the policies. */
export async function changePolicies({ services }: TestApp, change: PolicyChange): Promise<void> {
  await services.database.fork().transactional(async (em) => {
    const policies = await readSettingIn(em, mirrorPolicies)
    const changed = Object.entries(change).map(([rule, fields]) => [
      rule,
      { ...Object(policies[rule as keyof MirrorPolicies]), ...Object(fields) },
    ])
    const next = { ...policies, ...Object.fromEntries(changed), revision: policies.revision + 1 }
    await writeSetting(em, mirrorPolicies, mirrorPolicies.schema.parse(next))
  })
}

export const listingPath = (name: string): string => `/api/packages/${name}`
export const archivePath = (name: string, version: string): string => `/api/archives/${name}-${version}.tar.gz`

const minuteMs = 60_000

/** Moves the clock of a server forward. */
export function passMinutes(app: TestApp, minutes: number): void {
  app.clock.now = new Date((app.clock.now ?? new Date()).getTime() + minutes * minuteMs)
}

/** Returns what the mirror of a server has stored: rows with a file, files, and files that were not finished. */
export async function storedInMirror({ services }: TestApp): Promise<{ rows: string[]; files: number; unfinished: number }> {
  const rows = await services.database
    .fork()
    .execute<{ key: string }[]>('select key from mirror_entries where sha256 is not null order by key')
  const store = await mirrorFiles.store(services)
  let files = 0
  for await (const _file of store.list()) files++
  const unfinished = await store.collectStaged(new Date(Date.now() + minuteMs))
  return { rows: rows.map(({ key }) => key), files, unfinished }
}

type StoredDecision = {
  outcome: string
  rule: string
  package_name: string
  version: string
  reason: string
  user_id: string | null
  count: number
}

/** Returns the stored decisions of all instances of a server. */
export async function decisionsOf({ instances, services }: TestApp): Promise<StoredDecision[]> {
  for (const instance of instances) await saveDecisions(instance.services)
  const sql =
    'select outcome, rule, package_name, version, reason, user_id, count from mirror_decisions order by package_name, version, reason'
  return services.database.fork().execute<StoredDecision[]>(sql)
}

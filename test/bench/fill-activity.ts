import type { EntityManager } from '@mikro-orm/sql'
import { newId } from '../../server/platform/db/base.ts'
import type { Tables } from '../../server/platform/db/query.ts'
import { insertRows, readRows, type Value } from '../../server/platform/db/statements.ts'
import { popular } from './copy-index.ts'
import { versionKey } from '../../server/platform/pub/version.ts'
import type { Database } from '../../server/platform/db/open/orm.ts'

/** Publisher that owns a tenth of the packages. */
export const largePublisher = 'publisher-0'

const dayMs = 86_400_000
const publishers = 30

/**
 * Adds what a registry of this size accumulates: people with sessions and tokens, publishers, public packages, likes, watches, downloads, audit
 * entries and scores. The owner likes and watches every hundredth package. The numbers grow with the number of packages.
 */
export async function fillActivity(database: Database): Promise<Make> {
  const em = database.fork()
  const [owner] = await readRows<{ id: string }>(em, "select id from users where role = 'owner'", [])
  const packages = await readRows<{ id: string; name: string }>(em, 'select id, name from packages order by name', [])
  const make = { em, packages, owner: owner?.id ?? '', now: Date.now(), isSqlite: database.backend === 'sqlite' }
  await addManyVersions(make)
  const people = await addPeople(make)
  await addPublishers(make, people)
  await addUsage(make, people)
  await addReports(make)
  return make
}

/** What rows are made from: all packages, the owner, and the current time. */
export type Make = { em: EntityManager; packages: { id: string; name: string }[]; owner: string; now: number; isSqlite: boolean }
type Row = Readonly<Record<string, Value>>

/** Inserts rows in transactions of 5,000. */
export async function insert({ em }: Make, table: keyof Tables, rows: Row[]): Promise<void> {
  for (let at = 0; at < rows.length; at += 5000)
    await em.transactional((inside) => insertRows(inside, table, rows.slice(at, at + 5000) as never[]))
}

export const list = (length: number, make: (index: number) => Row): Row[] => Array.from({ length }, (_, index) => make(index))

/** Gives the popular package a thousand versions. */
async function addManyVersions(make: Make): Promise<void> {
  const { em, packages } = make
  const id = packages.find(({ name }) => name === popular)?.id ?? ''
  const [first] = await readRows<Row>(em, 'select * from package_versions where package_id = ?', [id])
  if (!first) throw new Error(`${popular} has no versions.`)
  await insert(
    make,
    'package_versions',
    list(1000, (index) => ({
      ...first,
      id: newId(),
      created_at: new Date(make.now),
      version: `0.1.${index}`,
      sort_key: versionKey(`0.1.${index}`),
    })),
  )
}

async function addPeople(make: Make): Promise<string[]> {
  const { now, packages } = make
  const ids = Array.from({ length: Math.ceil(packages.length / 40) }, newId)
  const at = (index: number) => new Date(now - index * 60_000)
  const people = ids.map((id, index) => ({
    id,
    created_at: at(index),
    email: `person${index}@example.com`,
    email_key: `person${index}@example.com`,
    display_name: `Person ${index}`,
    role: 'member',
    is_active: true,
    must_change_password: false,
  }))
  await insert(make, 'users', people)
  const holders = [...ids, ...Array.from({ length: 40 }, () => make.owner)]
  await insert(
    make,
    'sessions',
    holders.map((user_id, index) => ({
      id: newId(),
      created_at: at(index),
      user_id,
      hash: `session ${index}`,
      last_used_at: at(index),
      expires_at: new Date(now + 30 * dayMs),
      client_ip: '192.0.2.1',
      user_agent: 'Mozilla/5.0',
      proved_at: null,
    })),
  )
  await insert(
    make,
    'access_tokens',
    holders.map((user_id, index) => ({
      id: newId(),
      created_at: at(index),
      user_id,
      name: `token ${index}`,
      hash: `token ${index}`,
      prefix: 'svc_pat_benc',
      scopes: 'read',
      expires_at: null,
      last_used_at: at(index),
    })),
  )
  return ids
}

async function addPublishers(make: Make, people: string[]): Promise<void> {
  const { em, now } = make
  const count = Math.max(publishers, Math.ceil(make.packages.length / 100))
  const rows = list(count, (index) => ({
    id: `publisher-${index}`,
    created_at: new Date(now),
    display_name: `Publisher ${index}`,
    description: 'A team.',
  }))
  await insert(make, 'publishers', rows)
  const members = list(count, (index) => ({
    publisher_id: `publisher-${index}`,
    user_id: people[index % people.length] ?? make.owner,
    role: 'admin',
    created_at: new Date(now),
  }))
  await insert(make, 'publisher_members', [...members, { ...members[0], user_id: make.owner }])
  await em.transactional(async (inside) => {
    for (const [index, { id }] of make.packages.entries()) {
      const slug = index % 10 === 0 ? largePublisher : index % 3 === 0 ? `publisher-${index % count}` : null
      if (slug) await inside.execute('update packages set publisher_id = ? where id = ?', [slug, id])
    }
    await inside.execute(`update package_search_documents set shown_to = 2 where name = '${popular}'`)
    await inside.execute(
      "update packages set visibility = 'public' where id in (select package_id from package_search_documents where shown_to = 2)",
    )
  })
}

async function addUsage(make: Make, people: string[]): Promise<void> {
  const { em, packages, now, owner } = make
  const someone = (index: number) => people[index % people.length] ?? owner
  const liked = packages.flatMap(({ id }, index) => {
    const fans = [someone(index), someone(index + 7), ...(index % 100 === 0 ? [owner] : [])]
    return [...new Set(fans)].map((user_id) => ({ user_id, package_id: id, created_at: new Date(now - index * 1000) }))
  })
  const all = packages.find(({ name }) => name === popular)
  const known = new Set(liked.map(({ user_id, package_id }) => `${user_id} ${package_id}`))
  const fans = all ? people.map((user_id) => ({ user_id, package_id: all.id, created_at: new Date(now) })) : []
  for (const table of ['package_likes', 'package_watches'] as const)
    await insert(make, table, [...liked, ...fans.filter(({ user_id, package_id }) => !known.has(`${user_id} ${package_id}`))])
  const day = Math.floor(now / dayMs)
  const days = (count: number) =>
    `(with recursive days(n) as (select 0 union all select n + 1 from days where n < ${count - 1}) select n from days) days`
  // The trigger would update the same twenty daily totals for every row in one transaction. The server computes them when it starts.
  if (!make.isSqlite) await em.execute('alter table package_downloads disable trigger package_downloads_day')
  await em.execute(
    `insert into package_downloads (package_id, day, downloads) select p.id, ${day} - 3 * days.n, 5 from packages p, ${days(20)} where p.name <> '${popular}'`,
  )
  await em.execute(
    `insert into package_downloads (package_id, day, downloads) select p.id, ${day} - days.n, 50 from packages p, ${days(400)} where p.name = '${popular}'`,
  )
  if (!make.isSqlite) await em.execute('alter table package_downloads enable trigger package_downloads_day')
  await em.execute(
    `insert into version_downloads (version_id, day, downloads)
     select v.id, ${day} - 3 * days.n, 5 from packages p join package_versions v on v.package_id = p.id, ${days(3)} where p.name <> '${popular}'`,
  )
  await em.execute(
    `insert into version_downloads (version_id, day, downloads)
     select v.id, ${day} - days.n, 5 from packages p join package_versions v on v.package_id = p.id, ${days(60)} where p.name = '${popular}'`,
  )
  const newest = make.isSqlite ? 'max(v.created_at)' : '(extract(epoch from max(v.created_at)) * 1000)::bigint'
  await em.execute(
    `update package_search_documents as d set downloads = 50, likes = 2,
       published_at = (select ${newest} from package_versions v where v.package_id = d.package_id)`,
  )
}

/** Adds an audit entry for every version, and a report for every latest version. */
async function addReports({ em }: Make): Promise<void> {
  await em.execute(
    `insert into audit_entries (id, created_at, kind, summary, actor_id, package, version, client_ip, publisher)
     select v.id, v.created_at, 'package.version_published', 'Published a version.', v.published_by_id, p.name, v.version, '192.0.2.1', p.publisher_id
     from package_versions v join packages p on p.id = v.package_id where v.id not in (select id from audit_entries)`,
  )
  await em.execute(
    `insert into score_reports (version_id, runs, finished_at, engine, engine_version, granted, maximum, percent, checks_percent, report, tags)
     select v.id, 1, v.created_at, 'built-in', '1', 100, 160, 60, 60, '{"sections":[]}', 'sdk:dart'
     from packages p join package_versions v on v.package_id = p.id and v.version = p.latest_version
     where v.id not in (select version_id from score_reports)`,
  )
}

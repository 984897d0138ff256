import { BasePostgreSqlPlatform, type EntityManager } from '@mikro-orm/sql'
import type { Generated } from 'kysely'
import { changeRows, readRow, readRows } from '../../platform/db/statements.ts'
import { everyTerm, type Tag, tagTerm, unlistedTerm } from './tags.ts'
import { type DocumentTerms, documentTerms, type IndexedTexts, spellingsOf, summaryOf } from './terms.ts'

declare module '../../platform/db/query.ts' {
  interface Tables {
    /** What search shows of a package. Not an entity: times are in milliseconds. */
    package_search_documents: {
      id: Generated<number>
      package_id: string
      name: string
      created_at: number
      updated_at: number
      published_at: number
      shown_to: ShownTo
      downloads: Generated<number>
      likes: Generated<number>
      tags: string
      score: Generated<number>
      summary: Generated<string>
      dependents: Generated<number>
      public_dependents: Generated<number>
    }
  }
}

/**
 * Who finds a package in search by all of its texts and tags: 0 its administrators only, 1 signed-in users, 2 everyone, because all of its versions are
 * public (see `isWithin` in server/registry/search/dialects.ts). Anonymous callers find a public package with the value 1 by its name only.
 */
export type ShownTo = 0 | 1 | 2

/** The data that search shows and matches: a package's tags, and the texts of its latest version. */
export type SearchDocument = IndexedTexts & {
  packageId: string
  tags: readonly Tag[]
  /** The plugin that the package implements (`flutter.plugin.implements` of its pubspec). */
  implemented?: string | null
  shownTo: ShownTo
  /** Percentage of points in the latest version's report, from 0 to 100; null without a report. */
  score?: number | null
  createdAt: Date
  updatedAt: Date
  /** When the newest version was published; `createdAt` by default. */
  publishedAt?: Date
}

/** A search document. `source`: the version and analysis whose symbols are indexed; null without any. */
export type StoredDocument = { id: number | string; source: string | null }

/**
 * Creates or replaces a package's search document in the transaction of `em`. The package's own row must be flushed first. The cost depends on the
 * length of the texts, not on the number of packages. Returns the document's id, and what its indexed symbols were read from.
 */
export async function storeDocument(em: EntityManager, document: SearchDocument): Promise<StoredDocument> {
  const { packageId, name, tags, implemented = null, shownTo, score, createdAt, updatedAt, publishedAt = createdAt } = document
  const terms = documentTerms(document)
  const row = await readRow<StoredDocument>(
    em,
    `insert into package_search_documents (package_id, name, created_at, updated_at, published_at, shown_to, score, tags, summary)
     values (?, ?, ?, ?, ?, ?, ?, ?, ?)
     on conflict (package_id) do update set name = excluded.name, created_at = excluded.created_at, updated_at = excluded.updated_at,
       published_at = excluded.published_at, shown_to = excluded.shown_to, score = excluded.score, tags = excluded.tags, summary = excluded.summary
     returning id, (select source from package_search_symbols s where s.document_id = package_search_documents.id limit 1) as source`,
    [
      packageId,
      name,
      ...[createdAt, updatedAt, publishedAt].map((time) => time.getTime()),
      shownTo,
      score ?? -1,
      ` ${tags.join(' ')} `,
      summaryOf(terms, { implemented, endorsed: endorsedBy(name, tags) }),
    ],
  )
  if (!row) throw new Error(`No search document for ${name}`)
  const tagTerms = [everyTerm, ...(shownTo === 0 ? [unlistedTerm] : []), ...tags.map(tagTerm)]
  if (em.getPlatform() instanceof BasePostgreSqlPlatform) await storeVectors(em, row.id, terms, tagTerms)
  else {
    await storeTexts(em, row.id, terms, tagTerms)
    await changeRows(em, 'insert or replace into package_search_trigrams (rowid, name) values (?, ?)', [row.id, name])
  }
  return row
}

/** Returns the dependencies whose name continues the package's own name: parts of the package, such as `geolocator_android` of `geolocator`. */
const endorsedBy = (name: string, tags: readonly Tag[]): string[] =>
  tags.filter((tag) => tag.startsWith(`dependency:${name}_`)).map((tag) => tag.slice('dependency:'.length))

/**
 * Locks a package's search document until the end of the transaction, creating an empty one if needed. Call it before reading the data that the
 * document is built from, so that concurrent updates are serialized. Does nothing on SQLite, which has a single writer.
 */
export async function lockEntry(em: EntityManager, packageId: string): Promise<void> {
  if (!(em.getPlatform() instanceof BasePostgreSqlPlatform)) return
  const lock = () => readRows(em, 'select id from package_search_documents where package_id = ? for update', [packageId])
  if ((await lock()).length > 0) return
  await changeRows(
    em,
    `insert into package_search_documents (package_id, name, created_at, updated_at, shown_to, tags)
     select id, name, 0, 0, 0, ' ' from packages where id = ? on conflict do nothing`,
    [packageId],
  )
  await lock()
}

/**
 * Locks the search documents of the packages selected by the subquery. Locks are taken in one statement and in id order to avoid deadlocks. Returns
 * the ids of packages whose document did not exist: it was created empty, and the caller must fill it.
 */
export async function lockEntries(em: EntityManager, packages: string, parameters: readonly string[]): Promise<string[]> {
  if (!(em.getPlatform() instanceof BasePostgreSqlPlatform)) return []
  // PostgreSQL locks an existing row before it evaluates the condition, so `where false` locks the row without updating it.
  const rows = await readRows<{ package_id: string }>(
    em,
    `insert into package_search_documents as d (package_id, name, created_at, updated_at, shown_to, tags)
     select id, name, 0, 0, 0, ' ' from packages where id in (${packages}) order by id
     on conflict (package_id) do update set tags = d.tags where false returning package_id`,
    parameters,
  )
  return rows.map((row) => row.package_id)
}

/** Updates the times of a package's document after publishing a version that changes neither the latest version nor the tags. */
export async function touchIndex(em: EntityManager, packageId: string, publishedAt: Date): Promise<void> {
  const time = publishedAt.getTime()
  await changeRows(em, 'update package_search_documents set updated_at = ?, published_at = ? where package_id = ?', [time, time, packageId])
}

/** Deletes a package's search document. Deleting the package also deletes the document. */
export async function removeFromIndex(em: EntityManager, packageId: string): Promise<void> {
  await changeRows(em, 'delete from package_search_documents where package_id = ?', [packageId])
}

async function storeTexts(em: EntityManager, id: number | string, terms: DocumentTerms, tagTerms: string[]): Promise<void> {
  const { words, parts, description, topics, pairs, all } = terms
  const shortTexts = [words, parts, [...description, ...pairs.description], [...topics, ...pairs.topics]]
  const brief = [...shortTexts, [...tagTerms, ...spellingsOf(terms)]].map((list) => list.join(' '))
  await changeRows(
    em,
    'insert or replace into package_search_brief (rowid, words, parts, description, topics, tags) values (?, ?, ?, ?, ?, ?)',
    [id, ...brief],
  )
  await changeRows(em, 'insert or replace into package_search_full (rowid, terms) values (?, ?)', [id, [...all, ...tagTerms].join(' ')])
}

async function storeVectors(em: EntityManager, id: number | string, terms: DocumentTerms, tagTerms: string[]): Promise<void> {
  const tags = tagTerms.map(quoted).join(' ')
  const vectors = {
    package_search_brief: `${labelled(terms)} ${tags} ${spellingsOf(terms).map(quoted).join(' ')}`,
    package_search_full: `${terms.all.map(quoted).join(' ')} ${tags}`,
  }
  for (const [table, vector] of Object.entries(vectors)) {
    await changeRows(
      em,
      `insert into ${table} as stored (id, terms) values (?, ?::tsvector)
       on conflict (id) do update set terms = excluded.terms where stored.terms <> excluded.terms`,
      [id, vector],
    )
  }
}

const quoted = (term: string) => `'${term}'`

/** Formats terms as tsvector text, with positions and weight labels (server/registry/search/dialects.ts). */
function labelled({ words, parts, description, topics, pairs }: DocumentTerms): string {
  const lists = [words, [...description, ...pairs.description], [...topics, ...pairs.topics], parts]
  const terms = lists.flatMap((list, text) => list.map((term) => ({ term, label: 'ACDB'[text] })))
  return terms
    .slice(0, 16_000)
    .map(({ term, label }, index) => `'${term}':${index + 1}${label}`)
    .join(' ')
}

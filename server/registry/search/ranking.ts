import { type Breadth, dialectOf, documentsOf, rowConditions, type Statement } from './dialects.ts'
import { documentConditions } from './listing.ts'
import { type Candidate, rarityOf, relevanceOf, signalOf } from './relevance.ts'
import type { Reach, Selection, Source } from './selection.ts'
import type { QueryTerms } from './terms.ts'

// The term index returns a bounded number of candidates for each kind of match, most popular first, and relevance.ts scores them. The remaining
// matches follow in order of popularity, so every match appears on exactly one page, whatever the page size.

/** A selection that contains search words. */
export type WordSelection = Selection & { terms: QueryTerms }

/** A matching package. `isOnlyMentioned`: some words occur only in its README. */
export type Ranked = { id: string; name: string; score: number; isOnlyMentioned: boolean }

/** Returns up to `limit` packages that match any of the given selections, best first. Runs at most three statements per selection. */
export async function rankPackages(source: Source, parts: readonly WordSelection[], limit: number): Promise<Ranked[]> {
  const weights = await weightsOf(source, parts)
  const [best, others]: [Ranked[], Ranked[]] = [[], []]
  for (const part of parts) {
    const scored = (await candidatesOf(source, part)).map((row) => rankedRow(row, part, weights))
    best.push(...scored)
    // If there are fewer candidates than the limit per kind, there are no further matches.
    if (scored.length < maxCandidatesPerKind || limit <= scored.length) continue
    const known = new Set(scored.map(({ id }) => id))
    others.push(...(await allOf(source, part, limit)).filter(({ id }) => !known.has(id)))
  }
  return [...best.toSorted(compareRanked), ...others].slice(0, limit)
}

/** Counts the packages that contain each word in their short texts, up to `maxCounted`. Runs one statement per selection. */
export async function countWords(source: Source, parts: readonly WordSelection[]): Promise<number[]> {
  const counts = (parts[0]?.terms.words ?? []).map(() => 0)
  for (const { terms, reach } of parts) {
    const each = terms.words.map((word) =>
      dialectOf(source.backend).matching({ reach, terms: { ...terms, words: [word] }, all: [], none: [], scores: [] }, 'brief'),
    )
    const columns = each.map(({ sql }, index) => `(select count(*) from (select id from (${sql}) m limit ${maxCounted}) c) as n${index}`)
    const row = await source.reads.get<Record<string, number | string>>(
      `select ${columns.join(', ')}`,
      ...each.flatMap(({ parameters }) => parameters),
    )
    for (const index of counts.keys()) counts[index] = (counts[index] ?? 0) + Number(row?.[`n${index}`] ?? 0)
  }
  return counts
}

/** Returns the first names that start with `prefix`, in order, among the packages that match any of the given selections. */
export async function completeIn(source: Source, parts: readonly Selection[], prefix: string, limit: number): Promise<string[]> {
  const names: string[] = []
  for (const part of parts) {
    const { conditions, parameters } = documentConditions(source, part)
    const rows = await source.reads.all<{ name: string }>(
      `select d.name from ${documentsOf(part.reach)} d where d.name >= ? and d.name < ? and ${conditions.join(' and ')} order by d.name limit ?`,
      prefix,
      // `~` sorts after every character allowed in a name.
      `${prefix}~`,
      ...parameters,
      limit,
    )
    names.push(...rows.map(({ name }) => name))
  }
  return parts.length === 1 ? names : names.toSorted().slice(0, limit)
}

const maxCandidatesPerKind = 200
const maxCounted = 1000

const compareRanked = (a: Ranked, b: Ranked) => b.score - a.score || a.name.length - b.name.length || (a.name < b.name ? -1 : 1)

/** Returns the weight of each query word. Words are counted only in packages that the caller can see, so that weights reveal nothing about others. */
async function weightsOf(source: Source, parts: readonly WordSelection[]): Promise<number[]> {
  return parts[0]?.terms.words.length === 1 ? [1] : (await countWords(source, parts)).map(rarityOf)
}

type Count = number | string
type Row = { id: string; name: string; summary: string; dependents: Count; likes: Count; downloads: Count; kind: Count }

function rankedRow({ id, name, summary, ...row }: Row, { terms, reach }: WordSelection, weights: readonly number[]): Ranked {
  const found = (['api', 'readme', 'brief'] as const)[Number(row.kind)] ?? 'api'
  const counts = { dependents: Number(row.dependents), likes: Number(row.likes) }
  const signal = signalOf(isAnonymous(reach) ? counts : { ...counts, downloads: Number(row.downloads) })
  const candidate: Candidate = { name, summary, found, signal }
  return { id, name, score: relevanceOf(terms, weights, candidate), isOnlyMentioned: found === 'readme' }
}

/** Returns whether the caller is anonymous. Anonymous callers must not learn download counts or what private packages depend on. */
const isAnonymous = (reach: Reach) => reach === 'public' || reach === 'excerpts'

/** SQL: orders documents `d` by popularity, then by name. */
function byPopularity(reach: Reach): string {
  const popularity = isAnonymous(reach) ? '20 * d.public_dependents + 5 * d.likes' : '20 * d.dependents + 5 * d.likes + d.downloads / 50'
  return `${popularity} desc, length(d.name), d.name`
}

/** Returns the candidates for scoring: packages with the exact name, and the most popular packages of each kind of match. */
async function candidatesOf(source: Source, selection: WordSelection): Promise<Row[]> {
  const { reach, terms } = selection
  const kinds = kindsOfMatch(terms).map(({ breadth, kind, api }) => {
    const { sql, parameters } = joined(source, dialectOf(source.backend).withTerms(selection, breadth, { api }), selection)
    const exactFirst = breadth === 'name' ? `case when d.name in (${terms.names.map(() => '?').join(', ')}) then 0 else 1 end, ` : ''
    return {
      sql: `select * from (select d.id, ${kind} as kind from ${sql} order by ${exactFirst}${byPopularity(reach)} limit ${maxCandidatesPerKind}) k${kind}${breadth}`,
      parameters: [...parameters, ...(exactFirst ? terms.names : [])],
    }
  })
  const dependents = isAnonymous(reach) ? 'd.public_dependents' : 'd.dependents'
  return source.reads.all<Row>(
    `select d.package_id as id, d.name, d.summary, ${dependents} as dependents, d.likes, d.downloads, c.kind
     from (select id, max(kind) as kind from (${kinds.map(({ sql }) => sql).join(' union all ')}) every group by id) c
     join ${documentsOf(reach)} d on d.id = c.id`,
    ...kinds.flatMap(({ parameters }) => parameters),
  )
}

/** Kinds of match. Higher numbers are better matches. */
function kindsOfMatch({ namesOnly }: QueryTerms): { breadth: Breadth; kind: number; api: boolean }[] {
  const name = { breadth: 'name', kind: 2, api: false } as const
  if (namesOnly) return [name]
  return [
    name,
    { breadth: 'brief', kind: 2, api: false },
    { breadth: 'full', kind: 1, api: false },
    { breadth: 'full', kind: 0, api: true },
  ]
}

/** Returns all matches by popularity, without scores. */
async function allOf(source: Source, selection: WordSelection, limit: number): Promise<Ranked[]> {
  const found = dialectOf(source.backend).withTerms(selection, selection.terms.namesOnly ? 'name' : 'full')
  const { sql, parameters } = joined(source, found, selection)
  const rows = await source.reads.all<{ id: string; name: string }>(
    `select d.package_id as id, d.name from ${sql} order by ${byPopularity(selection.reach)} limit ?`,
    ...parameters,
    limit,
  )
  return rows.map(({ id, name }) => ({ id, name, score: 0, isOnlyMentioned: true }))
}

/** Joins a statement's result with the documents `d`. Returns the SQL that follows `from`. */
function joined({ backend }: Source, { sql, parameters }: Statement, selection: Selection): Statement {
  const { reach } = selection
  const conditions = rowConditions(selection)
  const where = conditions.length > 0 ? ` where ${conditions.join(' and ')}` : ''
  // Force the narrow index for sorting: reading thousands of full rows with their texts takes ten times as long.
  const hint = backend === 'sqlite' && reach !== 'excerpts' ? ' indexed by package_search_documents_renown' : ''
  return { sql: `(${sql}) m join ${documentsOf(reach)} d${hint} on d.id = m.id${where}`, parameters }
}

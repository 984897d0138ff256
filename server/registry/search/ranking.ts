import { type Breadth, dialectOf, foundByName, rowConditions, type Statement } from './dialects.ts'
import { documentConditions } from './listing.ts'
import { type Candidate, rankParts, rarityOf, relevanceOf, signalOf } from './relevance.ts'
import type { Reach, Selection, Source } from './selection.ts'
import type { QueryTerms } from './terms.ts'

// The term index returns a bounded number of candidates for each kind of match, most popular first, and relevance.ts scores them. The remaining
// matches follow in order of popularity, so every match appears on exactly one page, whatever the page size.

export type WordSelection = Selection & { terms: QueryTerms }

/** A matching package. `isOnlyMentioned`: some words occur only in its README. */
export type Ranked = { id: string; name: string; score: number; isOnlyMentioned: boolean }

/** Returns up to `limit` selected packages, best first. Runs at most four statements. */
export async function rankPackages(source: Source, selection: WordSelection, limit: number): Promise<Ranked[]> {
  const { words, leftOut = [] } = selection.terms
  // Words are counted only in packages that the caller can see, so that weights reveal nothing about others.
  const weights =
    words.length + leftOut.length === 1
      ? [1]
      : (await countWords(source, { ...selection, terms: { ...selection.terms, words: [...words, ...leftOut] } })).map(rarityOf)
  const rows = await candidatesOf(source, selection)
  const scored = rankParts(rows.map((row) => rankedRow(row, selection, weights))).toSorted(compareRanked)
  // If there are fewer candidates than the limit per kind, there are no further matches.
  if (scored.length < maxCandidatesPerKind || limit <= scored.length) return scored.slice(0, limit)
  const known = new Set(scored.map(({ id }) => id))
  const others = (await allOf(source, selection, limit)).filter(({ id }) => !known.has(id))
  return [...scored, ...others].slice(0, limit)
}

/** Counts the packages that contain each word in their short texts, up to `maxCounted`. Runs one statement. */
export const countWords = (source: Source, { terms, reach }: WordSelection): Promise<number[]> =>
  countSelections(
    source,
    terms.words.map((word) => ({ reach, terms: { ...terms, words: [word] }, all: [], none: [], scores: [] })),
    'brief',
  )

/** Counts the packages of each selection, up to `maxCounted`. Runs one statement. */
export async function countSelections(source: Source, selections: readonly Selection[], breadth: Breadth): Promise<number[]> {
  const each = selections.map((selection) => dialectOf(source.backend).matching(selection, breadth))
  const columns = each.map(({ sql }, index) => `(select count(*) from (select id from (${sql}) m limit ${maxCounted}) c) as n${index}`)
  const row = await source.reads.get<Record<string, number | string>>(
    `select ${columns.join(', ')}`,
    ...each.flatMap(({ parameters }) => parameters),
  )
  return each.map((_, index) => Number(row?.[`n${index}`] ?? 0))
}

/** Returns the first names of selected packages that start with `prefix`, in order. */
export async function completeIn(source: Source, selection: Selection, prefix: string, limit: number): Promise<string[]> {
  const { conditions, parameters } = documentConditions(source, selection)
  const rows = await source.reads.all<{ name: string }>(
    `select d.name from package_search_documents d where d.name >= ? and d.name < ? and ${conditions.join(' and ')} order by d.name limit ?`,
    prefix,
    // `~` sorts after every character allowed in a name.
    `${prefix}~`,
    ...parameters,
    limit,
  )
  return rows.map(({ name }) => name)
}

const maxCandidatesPerKind = 200
const maxCounted = 1000

const compareRanked = (a: Ranked, b: Ranked) => b.score - a.score || a.name.length - b.name.length || (a.name < b.name ? -1 : 1)

type Count = number | string
type Row = { id: string; name: string; summary: string; dependents: Count; likes: Count; downloads: Count; kind: Count }

function rankedRow(
  { id, name, summary, ...row }: Row,
  { terms, reach }: WordSelection,
  weights: readonly number[],
): Ranked & { summary: string } {
  const found = (['api', 'readme', 'brief'] as const)[Number(row.kind)] ?? 'api'
  const counts = { dependents: Number(row.dependents), likes: Number(row.likes) }
  const signal = signalOf(isAnonymous(reach) ? counts : { ...counts, downloads: Number(row.downloads) })
  const candidate: Candidate = { name, summary, found, signal }
  return { id, name, score: relevanceOf(terms, weights, candidate), isOnlyMentioned: found === 'readme', summary }
}

/** Returns whether the caller is anonymous. Anonymous callers must not learn download counts or what private packages depend on. */
const isAnonymous = (reach: Reach) => reach === 'public'

/** SQL: orders documents `d` by popularity, then by name. */
export function byPopularity(reach: Reach): string {
  const popularity = isAnonymous(reach) ? '20 * d.public_dependents + 5 * d.likes' : '20 * d.dependents + 5 * d.likes + d.downloads / 50'
  return `${popularity} desc, length(d.name), d.name`
}

/**
 * Returns the candidates for scoring: packages with the exact name, and the most popular packages of each kind of match. READMEs and API names are read
 * only if the short texts yield fewer packages than the limit: common words occur in most READMEs, and these matches are the worst.
 */
async function candidatesOf(source: Source, selection: WordSelection): Promise<Row[]> {
  const dialect = dialectOf(source.backend)
  const byName = foundByName(dialect, selection)
  const [best, others] = kindsOfMatch(selection.terms).map((kinds) =>
    kinds.map((match) => ({ ...match, from: joined(source, dialect.withTerms(selection, match.breadth, match), selection) })),
  )
  const rows = await readKinds(source, selection, [
    ...(best ?? []),
    ...(byName ? [{ breadth: 'name' as const, kind: briefKind, from: byName }] : []),
  ])
  if (!others || rows.length >= maxCandidatesPerKind) return rows
  const known = new Set(rows.map(({ id }) => id))
  return [...rows, ...(await readKinds(source, selection, others)).filter(({ id }) => !known.has(id))]
}

type Kind = { breadth: Breadth; kind: number; from: Statement }

async function readKinds(source: Source, { reach, terms, byName }: WordSelection, found: readonly Kind[]): Promise<Row[]> {
  const kinds = found.map(({ breadth, kind, from }, index) => {
    const exactFirst = breadth === 'name' ? `case when d.name in (${terms.names.map(() => '?').join(', ')}) then 0 else 1 end, ` : ''
    return {
      sql: `select * from (select d.id, ${kind} as kind from ${from.sql} order by ${exactFirst}${byPopularity(reach)} limit ${maxCandidatesPerKind}) k${index}`,
      parameters: [...from.parameters, ...(exactFirst ? terms.names : [])],
    }
  })
  const dependents = isAnonymous(reach) ? 'd.public_dependents' : 'd.dependents'
  const summary = byName === undefined ? 'd.summary' : "case when d.shown_to = 2 then d.summary else '' end"
  return source.reads.all<Row>(
    `select d.package_id as id, d.name, ${summary} as summary, ${dependents} as dependents, d.likes, d.downloads, c.kind
     from (select id, max(kind) as kind from (${kinds.map(({ sql }) => sql).join(' union all ')}) every group by id) c
     join package_search_documents d on d.id = c.id`,
    ...kinds.flatMap(({ parameters }) => parameters),
  )
}

const briefKind = 2

/** Kinds of match: in the short texts, then in others. Higher numbers are better matches. */
function kindsOfMatch({ namesOnly }: QueryTerms): { breadth: Breadth; kind: number; api: boolean }[][] {
  const name = { breadth: 'name', kind: briefKind, api: false } as const
  if (namesOnly) return [[name]]
  return [
    [name, { breadth: 'brief', kind: briefKind, api: false }],
    [
      { breadth: 'full', kind: 1, api: false },
      { breadth: 'full', kind: 0, api: true },
    ],
  ]
}

/** Returns all matches by popularity, without scores. */
async function allOf(source: Source, selection: WordSelection, limit: number): Promise<Ranked[]> {
  const dialect = dialectOf(source.backend)
  const found = joined(source, dialect.withTerms(selection, selection.terms.namesOnly ? 'name' : 'full'), selection)
  const byName = foundByName(dialect, selection)
  const sources = byName ? [found, byName] : [found]
  const columns = 'd.package_id, d.name, d.dependents, d.public_dependents, d.likes, d.downloads'
  const documents = sources.map(({ sql }) => `select ${columns} from ${sql}`).join(' union all ')
  const rows = await source.reads.all<{ id: string; name: string }>(
    `select d.package_id as id, d.name from (${documents}) d order by ${byPopularity(selection.reach)} limit ?`,
    ...sources.flatMap(({ parameters }) => parameters),
    limit,
  )
  return rows.map(({ id, name }) => ({ id, name, score: 0, isOnlyMentioned: true }))
}

/** Joins a statement's result with the documents `d`. Returns the SQL that follows `from`. */
function joined({ backend }: Source, { sql, parameters }: Statement, selection: Selection): Statement {
  const conditions = rowConditions(selection)
  const where = conditions.length > 0 ? ` where ${conditions.join(' and ')}` : ''
  return { sql: `(${sql}) m join package_search_documents d${dialectOf(backend).narrow} on d.id = m.id${where}`, parameters }
}

import type { EntityManager } from '@mikro-orm/sql'
import type { Database } from '../../server/platform/db/open/orm.ts'
import type { GeneratedPackage } from './generate-packages.ts'

/**
 * Baseline search over the same texts with database features only: one full-text index ranked by the database's own function, and a table of tags.
 */
export type BareEngine = {
  add(em: EntityManager, id: number, pkg: GeneratedPackage): Promise<void>
  /** Returns the number of matches, at most 50, for words and tags. The last word is a prefix. */
  search(words: string[], tags: string[]): Promise<number>
  /** Returns the number of names similar to `name`. */
  similar(name: string): Promise<number>
}

/** Creates the tables of the baseline search in the database of the registry. */
export async function bareEngine(database: Database): Promise<BareEngine> {
  const em = database.fork()
  const tables = database.backend === 'sqlite' ? sqliteTables : postgresTables
  for (const sql of tables) await em.execute(sql)
  return database.backend === 'sqlite' ? sqlite(database) : postgres(database)
}

const sqliteTables = [
  'create virtual table bare using fts5(name, description, topics, readme, tokenize=unicode61)',
  'create virtual table bare_names using fts5(name, tokenize=trigram)',
  'create table bare_tags (tag text not null, id integer not null, primary key (tag, id)) without rowid',
]

function sqlite({ reads }: Database): BareEngine {
  return {
    async add(em, id, { name, description, topics, readme, tags }) {
      await em.execute('insert into bare (rowid, name, description, topics, readme) values (?, ?, ?, ?, ?)', [
        id,
        name.replaceAll('_', ' '),
        description,
        topics.join(' '),
        readme,
      ])
      await em.execute('insert into bare_names (rowid, name) values (?, ?)', [id, name])
      for (const tag of tags) await em.execute('insert into bare_tags (tag, id) values (?, ?)', [tag, id])
    },
    async search(words, tags) {
      const match = words.map((word) => `"${word}"`).join(' ')
      const tagged = tags.map((_, index) => `cross join bare_tags t${index} on t${index}.tag = ? and t${index}.id = found.id`).join(' ')
      const matching =
        words.length > 0
          ? `(select rowid as id, name, rank as score from bare where bare match ?)`
          : '(select rowid as id, name, -rowid as score from bare)'
      const parameters = [...(words.length > 0 ? [`${match}*`] : []), ...tags]
      return (await reads.all(`select name, score from ${matching} found ${tagged} order by score limit 50`, ...parameters)).length
    },
    async similar(name) {
      const match = Array.from({ length: name.length - 2 }, (_, index) => `"${name.slice(index, index + 3)}"`).join(' OR ')
      return (await reads.all('select name from bare_names where bare_names match ? order by rank limit 50', match)).length
    },
  }
}

const postgresTables = [
  'create table bare (id bigint primary key, name text not null, terms tsvector not null, tags text[] not null)',
  'create index bare_terms on bare using gin (terms)',
  'create index bare_tags on bare using gin (tags)',
  'create index bare_names on bare using gin (name gin_trgm_ops)',
]

function postgres({ reads }: Database): BareEngine {
  return {
    async add(em, id, { name, description, topics, readme, tags }) {
      await em.execute(
        `insert into bare (id, name, terms, tags) values (?, ?, setweight(to_tsvector('english', ?), 'A') || setweight(to_tsvector('english', ?), 'B') || to_tsvector('english', ?), string_to_array(?, ' '))`,
        [id, name, name.replaceAll('_', ' '), `${description} ${topics.join(' ')}`, readme, tags.join(' ')],
      )
    },
    async search(words, tags) {
      const tagged = "and tags @> string_to_array(?, ' ')"
      if (words.length === 0)
        return (await reads.all(`select name from bare where true ${tagged} order by id desc limit 50`, tags.join(' '))).length
      const query = words.map((word, index) => (index === words.length - 1 ? `${word}:*` : word)).join(' & ')
      const sql = `select name, ts_rank(terms, query) as score from bare, to_tsquery('english', ?) query where terms @@ query ${tags.length > 0 ? tagged : ''} order by 2 desc limit 50`
      return (await reads.all(sql, query, ...(tags.length > 0 ? [tags.join(' ')] : []))).length
    },
    async similar(name) {
      return (await reads.all('select name from bare where name % ? order by similarity(name, ?) desc limit 50', name, name)).length
    },
  }
}

import type { EntityManager } from '@mikro-orm/sql'
import type { PlaceConfig } from '../backup/place/settings.ts'
import type { SnapshotConfig } from '../backup/create.ts'
import type { Config } from '../../platform/config/config.ts'
import type { StoreConfig } from '../../platform/store/open.ts'

/** Result of a command: `text` for people, `data` for scripts. `ok` is false if the command found a problem, which gives exit code 1. */
export type Outcome = { text: string; data: Record<string, unknown>; ok?: boolean }

/** What an admin command needs to run: the database and the settings. */
export type Operation = {
  em: EntityManager
  config: Pick<Config, 'BCRYPT_COST' | 'SERVER_URL' | 'DATA_DIR' | 'MIN_FREE_BYTES' | 'DOCS_BACKEND' | 'DOCS_PATH' | 'PASSWORD_SIGN_IN'> &
    SnapshotConfig &
    PlaceConfig &
    StoreConfig
}

/** Command-line options by name: the value of an option that takes one, otherwise true. */
export type Options = Record<string, string | boolean | undefined>

/** An option of a command. `value` is the placeholder of its value, such as `<file>`; options without it are switches. */
export type Option = { about: string; value?: `<${string}>` }

/** Usage information of a command. */
export type Help = {
  name: string
  /** Placeholders of the positional arguments, such as `<folder> [<backup>]`. The last one may be repeated: `<file…>`. */
  values: string
  about: string
  /** Additional information for `--help`. */
  details?: string
  options?: Record<string, Option>
  /** One or two examples, without the `snug admin` prefix. */
  examples: readonly [string, ...string[]]
}

/** A command that needs a database with the current schema. A server may be running. */
type WithDatabase = {
  run: (operation: Operation, values: string[], options: Options) => Promise<string | Outcome>
  /** Whether the command migrates the schema first, which requires the server to be stopped. */
  migrates?: boolean
}
/** A command that does not need an existing database. */
type WithSettings = { runAlone: (config: Config, values: string[], options: Options) => Promise<string | Outcome> }
/** A command that reads and validates the settings itself. */
type WithNothing = {
  runAnywhere: (environment: NodeJS.ProcessEnv | undefined, values: string[], options: Options) => Promise<string | Outcome>
}

/** An admin command. */
export type Command = Help & (WithDatabase | WithSettings | WithNothing)

/** Returns the minimum and maximum number of positional arguments of a command. */
export function countsOf({ values }: Help): { fewest: number; greatest: number } {
  const words = values.match(/\[?<[^>]+>\]?/g) ?? []
  const isRepeated = words.at(-1)?.includes('…') ?? false
  return { fewest: words.filter((word) => !word.startsWith('[')).length, greatest: isRepeated ? Infinity : words.length }
}

/** Returns the value of an option that takes one; undefined when the option was not given. */
export function textIn(options: Options, name: string): string | undefined {
  const value = options[name]
  return typeof value === 'string' ? value : undefined
}

/** Formats a count with its noun, given in the plural: `1 audit entry`, `2 audit entries`. */
export const counted = (amount: number, plural: string): string =>
  `${amount} ${amount === 1 ? plural.replace(/ies$/, 'y').replace(/s$/, '') : plural}`

import { type Config, ConfigError } from '../config/config.ts'
import { nameOfDatabase } from '../db/location/missing.ts'
import { adminCommand } from '../config/version.ts'
import { nameOfStore, type StoreConfig } from './open.ts'

/** Reasons why a database and a store do not match. */
export type Problem = 'other' | 'emptyDatabase' | 'emptyStore' | 'strange' | 'unfinished'

/** The settings that identify a database and a store. */
export type Place = Pick<Config, 'DB_BACKEND' | 'SQLITE_PATH' | 'POSTGRES_URL'> & StoreConfig

/** Returns the error for a mismatch, with the remedy. */
export function refusal(problem: Problem, place: Place): ConfigError {
  const [store, database] = [`the archive store ${nameOfStore(place)}`, nameOfDatabase(place)]
  if (problem === 'unfinished')
    return new ConfigError([
      `A restore of a backup into ${store} was interrupted, so the server does not start.`,
      `Run it again, from the beginning: ${adminCommand} restore <place>. To start without the backup, configure an empty store and a new database.`,
    ])
  const why = {
    other: `${store} belongs to another database than ${database}: their ids differ.`,
    emptyDatabase: `${store} has archives, but ${database} has no packages: it is new, or this store belongs to another database.`,
    emptyStore: `${database} has packages, but ${store} has no archives: it is new, not mounted, or belongs to another database.`,
    strange: `${store} does not have the archives of the packages in ${database}.`,
  }[problem]
  const variable = place.DB_BACKEND === 'sqlite' ? 'SQLITE_PATH' : 'POSTGRES_URL'
  const where = place.BLOB_BACKEND === 'filesystem' ? 'BLOB_PATH' : 'S3_BUCKET, S3_PREFIX'
  return new ConfigError([
    `${why.charAt(0).toUpperCase()}${why.slice(1)} Nothing was changed, and the server does not start.`,
    `If they do not belong together, correct ${where} or ${variable} so that every database has its own store.`,
    `If they do, for example after restoring a backup, assign the store to the database: ${adminCommand} adopt-store`,
  ])
}

import { z } from 'zod'
import type { Config } from '../../platform/config/config.ts'
import { nameOfBucket } from '../../platform/blobs/s3/settings.ts'
import { hmac, type Keys, validKeys } from '../../platform/http/keys.ts'
import { hostedHere } from '../../registry/packages/hosting/hosted-here.ts'

/** Settings that all instances on a database must share. `keys` are fingerprints of JWT_SECRET and JWT_SECRET_PREVIOUS. */
export type Facts = z.infer<typeof facts>
export const facts = z.object({ keys: z.array(z.string()).min(1), address: z.string(), store: z.string() })

/** Returns the settings of an instance that must be the same on all instances. */
export const factsOf = (config: Config, keys: Keys): Facts => ({
  keys: validKeys(keys).map(({ fingerprint }) => hmac(fingerprint, 'instance')),
  address: hostedHere(config),
  store: storeOf(config),
})

/** Identifies the archive store of an instance for comparison. */
function storeOf(config: Config): string {
  if (config.BLOB_BACKEND === 'filesystem') return config.BLOB_PATH
  return `${nameOfBucket(config)}${config.S3_ENDPOINT === undefined ? '' : ` at ${new URL(config.S3_ENDPOINT).host}`}`
}

/** Describes the differences between two instances, one sentence per setting, from the perspective of the first. Contains no secrets. */
export function differences(own: Facts, other: Facts): string[] {
  const elsewhere = 'on another running instance with this database'
  return [
    haveCommonKey(own.keys, other.keys)
      ? []
      : `JWT_SECRET: differs from the one ${elsewhere}. Each would reject the sessions of the other.`,
    own.address === other.address ? [] : `SERVER_URL: is ${own.address} here, but ${other.address} ${elsewhere}.`,
    own.store === other.store ? [] : `The archive store is ${own.store} here, but ${other.store} ${elsewhere}.`,
  ].flat()
}

/** Whether at least one instance accepts signatures of the other. During a rotation, the previous key of one is the current key of the other. */
const haveCommonKey = ([own = '', ...ownPrevious]: string[], [other = '', ...othersPrevious]: string[]): boolean =>
  own === other || ownPrevious.includes(other) || othersPrevious.includes(own)

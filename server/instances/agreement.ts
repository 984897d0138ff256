import { z } from 'zod'
import type { Config } from '../config/config.ts'
import { nameOfBucket } from '../blobs/s3/settings.ts'
import { hmac, type Keys, validKeys } from '../http/keys.ts'
import { hostedHere } from '../packages/hosting/hosted-here.ts'

/** What instances on one database must agree on. `keys` are fingerprints of JWT_SECRET and JWT_SECRET_PREVIOUS. */
export type Facts = z.infer<typeof facts>
export const facts = z.object({ keys: z.array(z.string()).min(1), address: z.string(), store: z.string() })

/** What an instance with these settings and keys has to agree on with others. */
export const factsOf = (config: Config, keys: Keys): Facts => ({
  keys: validKeys(keys).map(({ fingerprint }) => hmac(fingerprint, 'instance')),
  address: hostedHere(config),
  store: storeOf(config),
})

/** The archive store of an instance, as other instances can compare it. */
function storeOf(config: Config): string {
  if (config.BLOB_BACKEND === 'filesystem') return config.BLOB_PATH
  return `${nameOfBucket(config)}${config.S3_ENDPOINT === undefined ? '' : ` at ${new URL(config.S3_ENDPOINT).host}`}`
}

/** Where two instances disagree: a sentence for each setting, from the view of the first one. No secret is in it. */
export function differences(own: Facts, other: Facts): string[] {
  const elsewhere = 'at another instance that is running on this database'
  return [
    haveCommonKey(own.keys, other.keys) ? [] : `JWT_SECRET: is not the one ${elsewhere}. Each would refuse the sessions of the other.`,
    own.address === other.address ? [] : `SERVER_URL: is ${own.address} here, and ${other.address} ${elsewhere}.`,
    own.store === other.store ? [] : `The archive store is ${own.store} here, and ${other.store} ${elsewhere}.`,
  ].flat()
}

/** Whether one of the two accepts what the other signs. During a rotation, the previous key of one is the key of the other. */
const haveCommonKey = ([own = '', ...ownPrevious]: string[], [other = '', ...othersPrevious]: string[]): boolean =>
  own === other || ownPrevious.includes(other) || othersPrevious.includes(own)

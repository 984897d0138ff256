import { mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openFilesystemBlobs } from '../../server/platform/blobs/filesystem.ts'
import { openS3Blobs } from '../../server/platform/blobs/s3/s3.ts'
import type { BlobStore } from '../../server/platform/blobs/store.ts'
import { readConfig } from '../../server/platform/config/config.ts'
import { type S3Bucket, s3Bucket } from './s3-service.ts'

/** Blob store with methods that bypass its interface. Files are named by their path in a folder or their key in a bucket. */
export type TestStore = BlobStore &
  AsyncDisposable & {
    /** Opens the same store again, as another process does. */
    another(): Promise<BlobStore>
    /** Returns the names of all files, without their folders. */
    files(): Promise<string[]>
    write(path: string, bytes: Buffer): Promise<void>
    /** Sets the modification time of a file to 1970. */
    age(path: string): Promise<void>
    /** Removes the folder of the store, or makes its bucket unavailable. */
    takeAway(): Promise<void>
  }

/** Returns the path of a blob. */
export const pathOf = (sha256: string): string => `sha256/${sha256.slice(0, 2)}/${sha256.slice(2, 4)}/${sha256}`

/** All kinds of blob stores. Each function opens a new, empty store. */
export const kindsOfStores: [string, () => Promise<TestStore>][] = [
  ['a folder', folderStore],
  ['a bucket', async () => bucketStore(await s3Bucket())],
]

/** Opens a store in a new folder. */
export async function folderStore(): Promise<TestStore> {
  const root = await mkdtemp(join(tmpdir(), 'snug-blobs-'))
  return {
    ...(await openFilesystemBlobs(root)),
    another: () => openFilesystemBlobs(root),
    files: async () =>
      (await readdir(root, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile()).map(({ name }) => name),
    write: (path, bytes) => writeFile(join(root, path), bytes),
    age: (path) => utimes(join(root, path), 0, 0),
    takeAway: () => rm(root, { recursive: true }),
    [Symbol.asyncDispose]: () => rm(root, { recursive: true, force: true }),
  }
}

/** Opens a store under a prefix of a bucket. */
export async function bucketStore(bucket: S3Bucket): Promise<TestStore> {
  const config = s3Config(bucket, { S3_PREFIX: 'snug' })
  return {
    ...(await openS3Blobs(config)),
    another: () => openS3Blobs(config),
    files: async () => (await bucket.keys()).map((key) => key.slice(key.lastIndexOf('/') + 1)),
    write: (path, bytes) => bucket.write(`snug/${path}`, bytes),
    age: async (path) => bucket.features.age(`snug/${path}`, new Date(0)),
    async takeAway() {
      bucket.fault = () => ({ status: 404, code: 'NoSuchBucket' })
    },
    [Symbol.asyncDispose]: () => bucket[Symbol.asyncDispose](),
  }
}

/** Returns the configuration of a server that stores blobs in a bucket. */
export const s3Config = ({ env }: Pick<S3Bucket, 'env'>, more: Record<string, string> = {}) =>
  readConfig({ SERVER_URL: 'http://localhost:8080', JWT_SECRET: 'a secret for tests that is long enough', ...env, ...more })

import type { BlobFacts } from './place.ts'

/** Passes a stream of blobs through. @throws Error when the blobs are not sorted by hash. */
export async function* requireSorted<Blob extends Pick<BlobFacts, 'sha256'>>(
  blobs: AsyncIterable<Blob>,
  name: string,
): AsyncGenerator<Blob> {
  let last = ''
  for await (const blob of blobs) {
    if (blob.sha256 < last) throw new Error(`${name} is not in order.`)
    last = blob.sha256
    yield blob
  }
}

/**
 * Returns a lookup function for a sorted stream of blobs that uses constant memory. Lookups must be made in ascending order of hashes, and may
 * be made without waiting for earlier ones.
 */
export function createLookup<Blob extends Pick<BlobFacts, 'sha256'>>(
  blobs: AsyncGenerator<Blob>,
): (sha256: string) => Promise<Blob | null> {
  let current: Blob | null = null
  let isOver = false
  const find = async (sha256: string) => {
    while (!isOver && (current === null || current.sha256 < sha256)) {
      const next = await blobs.next()
      isOver = next.done === true
      if (!next.done) current = next.value
    }
    return current?.sha256 === sha256 ? current : null
  }
  let turn: Promise<unknown> = Promise.resolve()
  return (sha256) => {
    const answer = turn.then(() => find(sha256))
    turn = answer.catch(() => {})
    return answer
  }
}

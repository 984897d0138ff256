import type { S3Client } from '@aws-sdk/client-s3'

/**
 * Returns a function that reports how far the local clock is ahead of the service's clock, in milliseconds, according to the latest response. Reports
 * 0 before the first response.
 */
export function watchClock(client: S3Client): () => number {
  let ahead = 0
  client.middlewareStack.add(
    (next) => async (args) => {
      const answer = await next(args)
      const date = dateOf(answer.response)
      if (date !== null) ahead = Date.now() - date
      return answer
    },
    { step: 'deserialize', name: 'watchClock', override: true },
  )
  return () => ahead
}

function dateOf(response: unknown): number | null {
  const headers = typeof response === 'object' && response !== null && 'headers' in response ? response.headers : null
  const date = typeof headers === 'object' && headers !== null && 'date' in headers ? Date.parse(String(headers.date)) : Number.NaN
  return Number.isNaN(date) ? null : date
}

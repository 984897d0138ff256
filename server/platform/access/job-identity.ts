import type { FastifyRequest } from 'fastify'
import { type Reads, toDate } from '../db/reads/reads.ts'
import { splitArchiveName } from '../pub/archive-name.ts'
import type { Credential, Viewer } from '../roles/viewer.ts'

type JobTokenRow = { id: string; packages: string; is_for_anybody: boolean | number; expires_at: number | Date }

const jobTokenSql = 'select id, packages, is_for_anybody, expires_at from job_tokens where hash = ?'

/**
 * Returns the identity of a server job. Its token is valid only for requests of package clients about one of its packages; for all others, returns
 * null.
 */
export async function identityOfJob(
  request: FastifyRequest,
  reads: Reads,
  hash: string,
  now: Date,
): Promise<{ viewer: Viewer; credential: Credential; lastUsedAt: Date } | null> {
  const row = await reads.recall<JobTokenRow>(jobTokenSql, hash)
  if (!row || toDate(row.expires_at) <= now) return null
  const name = packageOf(request)
  if (name === null || !row.packages.split(',').includes(name)) return null
  const expiresAt = toDate(row.expires_at)
  const viewer = { ...jobViewer, id: row.id, createdAt: now, seesOnlyPublic: Boolean(row.is_for_anybody) }
  return { viewer, credential: { kind: 'token', id: row.id, scopes: ['read'], expiresAt }, lastUsedAt: now }
}

const jobViewer = { email: '', displayName: 'Analysis', role: 'viewer', isActive: true, mustChangePassword: false } as const

/** The routes that package clients use to resolve and fetch dependencies. */
const readable = /\/api\/packages\/:pkg(?:\/versions\/:version|\/advisories)?$/
const archives = /\/api\/archives\/:file$/

function packageOf({ routeOptions: { url = '' }, params }: FastifyRequest): string | null {
  const { pkg, file } = params as { pkg?: string; file?: string }
  if (readable.test(url)) return pkg ?? null
  return archives.test(url) && file !== undefined ? (splitArchiveName(file)?.name ?? null) : null
}

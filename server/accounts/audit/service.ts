import type { EntityManager } from '@mikro-orm/sql'
import { newId, currentTimeOf } from '../../platform/db/base.ts'
import { insertRows } from '../../platform/db/statements.ts'
import { AuditEntry } from './entity.ts'

/**
 * All kinds of audit events. The text of an entry is written by the service that makes the change: search for its kind. The events of a publish are
 * built by `eventsOf` in uploads/publish.ts.
 */
export type AuditKind =
  | `user.${'created' | 'signup_refused' | 'updated' | 'deleted' | 'login' | 'login_failed' | 'password_changed' | 'password_confirmed' | 'password_reset' | 'second_factor_reset' | 'invite_created' | 'invite_accepted'}`
  | `token.${'created' | 'rotated' | 'revoked' | 'reuse_detected'}`
  | `identity.${'linked' | 'unlinked' | 'confirmed'}`
  | `provider.${'created' | 'updated' | 'deleted'}`
  | 'session.revoked'
  | `passkey.${'added' | 'renamed' | 'removed' | 'disabled' | 'confirmed'}`
  | `totp.${'enabled' | 'disabled' | 'confirmed'}`
  | 'recovery_codes.created'
  | 'oauth.approved'
  | `service_account.${'created' | 'updated' | 'deleted'}`
  | 'owner.transferred'
  | `package.${'created' | 'deleted' | 'options_updated' | 'uploader_added' | 'uploader_removed' | 'publisher_changed' | 'visibility_changed' | 'scored' | 'score_failed' | 'docs_generated'}`
  | `package.version_${'published' | 'retracted' | 'unretracted' | 'deleted' | 'restored'}`
  | `package.${'restored' | 'name_approved' | 'name_rejected' | 'name_freed'}`
  | `publisher.${'created' | 'verified' | 'updated' | 'deleted' | 'member_added' | 'member_updated' | 'member_removed'}`
  | `trusted_publisher.${'added' | 'changed' | 'removed'}`
  | `token_issuer.${'added' | 'changed' | 'removed'}`
  | `server.${'setup_completed' | 'public_packages_enabled' | 'public_packages_disabled' | 'legal_updated' | 'settings_updated' | 'mirror_policies_updated' | 'mirror_exemption_added' | 'mirror_exemption_removed' | 'sdk_installed' | 'sdk_removed' | 'job_cancelled' | 'audit_entries_deleted'}`

export type AuditEvent = {
  kind: AuditKind
  /** Text of the entry: a sentence for people. Must never contain secrets. */
  summary: string
  actor: { id: string } | null
  /** The account that the action was applied to. */
  user?: { id: string }
  package?: string
  /** The publisher that the action was applied to, or that a package was moved to or from. */
  publisher?: string
  version?: string
  ip?: string | null
}

/** Inserts entries directly in the transaction of `em`, without a unit of work. Returns their ids. */
export async function recordEvents(em: EntityManager, events: readonly AuditEvent[]): Promise<string[]> {
  const at = currentTimeOf(em)
  const rows = events.map((event) => ({
    id: newId(),
    created_at: at,
    kind: event.kind,
    summary: event.summary.slice(0, 500),
    actor_id: event.actor?.id ?? null,
    user_id: event.user?.id ?? null,
    package: event.package ?? null,
    publisher: event.publisher ?? null,
    version: event.version ?? null,
    client_ip: event.ip ?? null,
  }))
  await insertRows(em, 'audit_entries', rows)
  return rows.map(({ id }) => id)
}

/** Records an event in the current unit of work, so that it commits or rolls back together with the change. */
export function audit(em: EntityManager, { actor, user, summary, ip, ...event }: AuditEvent): void {
  em.create(AuditEntry, {
    ...event,
    summary: summary.slice(0, 500),
    actorId: actor?.id ?? null,
    userId: user?.id ?? null,
    clientIp: ip ?? null,
  })
}

import { type Actor, isServerAdmin } from '../../platform/access/roles.ts'
import { canAdministerPublisher, canSeeAdministration, type PublisherRule } from '../publishers/policy.ts'

// Rules for service accounts. An account of a publisher is managed by the publisher's admins, one of the server by server administrators.

/** What an account belongs to: a publisher, or null for the server. */
type Owner = { id: string } | null

/** A permission check on the owner of an account. */
export type ServiceAccountRule = (em: Parameters<PublisherRule>[0], actor: Actor, owner: Owner) => Promise<boolean>

/** Whether the caller may create, change and delete service accounts and their tokens. Service accounts may not, whatever their role. */
export const canManageServiceAccounts: ServiceAccountRule = async (em, actor, owner) =>
  actor.viewer.kind === 'person' && (owner ? canAdministerPublisher(em, actor, owner) : isServerAdmin(actor))

/** Whether the caller may see service accounts and their tokens, with read-only credentials too. */
export const canSeeServiceAccounts: ServiceAccountRule = async (em, actor, owner) =>
  actor.viewer.kind === 'person' && (owner ? canSeeAdministration(em, actor, owner) : isServerAdmin(actor))

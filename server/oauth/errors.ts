import { z } from 'zod'

/** The codes of RFC 6749 §4.1.2.1 and §5.2 that this server uses. */
const codes = [
  'invalid_request',
  'invalid_client',
  'invalid_grant',
  'invalid_scope',
  'unsupported_grant_type',
  'unsupported_response_type',
  'temporarily_unavailable',
] as const
export type OauthErrorCode = (typeof codes)[number]

/** The flat error of RFC 6749, section 5.2. */
export const oauthErrorSchema = z.object({ error: z.enum(codes), error_description: z.string() })

/** A fault in the words of RFC 6749, for the client's program. The description is printable ASCII without quotes, as the RFC wants it. */
export class OauthError extends Error {
  readonly code: OauthErrorCode

  constructor(code: OauthErrorCode, description: string) {
    super(description)
    this.name = 'OauthError'
    this.code = code
  }
}

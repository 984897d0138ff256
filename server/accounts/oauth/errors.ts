import { z } from 'zod'

/** The error codes of RFC 6749 §4.1.2.1 and §5.2 that this server uses. */
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

/** The error response of RFC 6749 §5.2. */
export const oauthErrorSchema = z.object({ error: z.enum(codes), error_description: z.string() })

/** An OAuth error (RFC 6749). The RFC requires the description to be printable ASCII without quotes. */
export class OauthError extends Error {
  readonly code: OauthErrorCode

  constructor(code: OauthErrorCode, description: string) {
    super(description)
    this.name = 'OauthError'
    this.code = code
  }
}

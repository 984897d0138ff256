/** The codes of RFC 6749 §4.1.2.1 and §5.2 that this server uses. */
export type OauthErrorCode =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'invalid_scope'
  | 'unsupported_grant_type'
  | 'unsupported_response_type'
  | 'temporarily_unavailable'

/** A fault in the words of RFC 6749, for the client's program. The description is printable ASCII without quotes, as the RFC wants it. */
export class OauthError extends Error {
  readonly code: OauthErrorCode

  constructor(code: OauthErrorCode, description: string) {
    super(description)
    this.name = 'OauthError'
    this.code = code
  }
}

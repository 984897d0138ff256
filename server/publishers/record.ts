/** The name of the TXT record that proves that somebody holds a domain. */
export const recordHost = (domain: string): string => `_svc-verify.${domain}`

/** What the record shows. Anybody may read it in the DNS, so it is no secret. */
export const recordValue = (token: string): string => `svc-verify=${token}`

/** What any such record of this server's looks like. */
export const recordValueForm = /^svc-verify=[0-9a-f]{40}$/

// The server names the suffix of its cookies in the page. The development server serves the page without it.
const suffix = document.querySelector<HTMLMetaElement>('meta[name="cookie-suffix"]')?.content ?? String.raw`(?:_[\da-f]{8})?`
const cookieForm = new RegExp(`(?:^|; )(?:__Host-)?svc_csrf${suffix}=([^;]*)`)

let csrfToken: string | undefined

/** Returns the CSRF header for the session that the page was loaded with. The server rejects the token after a new sign-in in another tab. */
export const csrfHeader = (): Record<string, string> => (csrfToken === undefined ? {} : { 'X-CSRF-Token': csrfToken })

/** Sets the CSRF token that this page sends with its requests. */
export const setCsrfToken = (token: string | undefined) => void (csrfToken = token)

/** Returns the CSRF token of the browser's current session, which another tab may have replaced. */
export function csrfCookie(): string | undefined {
  const token = cookieForm.exec(document.cookie)?.[1]
  return token && decodeURIComponent(token)
}

import { cookieName } from '../../server/platform/http/cookies.ts'

/** Returns the names of the cookies of a server; by default, those of the servers that tests start in their own process. */
export const cookieNames = (serverUrl = 'http://localhost:8080', secure?: boolean) => ({
  session: cookieName('session', serverUrl, secure),
  csrf: cookieName('csrf', serverUrl, secure),
  setup: cookieName('setup', serverUrl, secure),
  device: cookieName('device', serverUrl, secure),
})

/** Returns the CSRF token in the cookies of any server. */
export const csrfIn = (cookies: Record<string, string> = {}): string =>
  Object.entries(cookies).find(([name]) => /^(?:__Host-)?svc_csrf/.test(name))?.[1] ?? ''

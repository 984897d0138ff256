import { ConfigError } from '../../config/config.ts'

/** Address to listen on, with the names of the settings that define it. */
type Place = { host: string; port: number; settings: { host: string; port: string } }

/**
 * Explains an error of `listen` in terms of the settings: as a ConfigError, or as an Error if the cause may pass. Other errors are returned
 * unchanged.
 */
export function explainListenError(error: unknown, place: Place): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  const message = messageOf(code, place)
  if (message === null) return error
  return passing.includes(String(code)) ? new Error(message, { cause: error }) : Object.assign(new ConfigError([message]), { cause: error })
}

const passing = ['EADDRINUSE', 'EAI_AGAIN']

function messageOf(code: unknown, { host, port, settings }: Place): string | null {
  switch (code) {
    case 'EADDRINUSE':
      return `${settings.port}: another program uses port ${port} already. Stop it, or choose another port.`
    case 'EACCES':
      return `${settings.port}: this account may not use port ${port}. Choose one above 1023, and let a proxy pass requests on to it.`
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return `${settings.host}: this machine has no address ${host}. Use 0.0.0.0 for all of its addresses, or 127.0.0.1 behind a proxy.`
    default:
      return null
  }
}

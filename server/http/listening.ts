/** A place to listen at, with the settings that name it. */
type Place = { host: string; port: number; settings: { host: string; port: string } }

/** What keeps a server from listening there, in terms of the settings; the error itself when it is something else. */
export function listeningProblem(error: unknown, { host, port, settings }: Place): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'EADDRINUSE')
    return new Error(`${settings.port}: another program uses port ${port} already. Stop it, or choose another port.`, { cause: error })
  if (code === 'EACCES')
    return new Error(
      `${settings.port}: this account may not use port ${port}. Choose one above 1023, and let a proxy pass requests on to it.`,
      {
        cause: error,
      },
    )
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return new Error(
      `${settings.host}: this machine has no address ${host}. Use 0.0.0.0 for all of its addresses, or 127.0.0.1 behind a proxy.`,
      {
        cause: error,
      },
    )
  return error
}

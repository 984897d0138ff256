import { Client } from 'pg'

/** Works on a connection of its own, on which a statement may take as long as it takes. What is not committed by then is rolled back. */
export async function withClient<Result>(url: string, work: (client: Client) => Promise<Result>): Promise<Result> {
  const client = await connect(url)
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

/** A connection without time-outs, to be ended by the caller. */
export async function connect(url: string): Promise<Client> {
  const client = new Client({ connectionString: url, application_name: 'snug backup', keepAlive: true })
  // A connection that is lost ends the statement that runs on it, too: that one tells.
  client.on('error', () => {})
  await client.connect()
  await client.query(
    'set statement_timeout = 0; set lock_timeout = 0; set idle_in_transaction_session_timeout = 0; set idle_session_timeout = 0' +
      "; set timezone = 'UTC'; set datestyle = 'ISO'",
  )
  return client
}

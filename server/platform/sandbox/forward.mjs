// First program of a job in a sandbox without network. Forwards connections from a local port to the proxy's socket while the actual program runs.
import { spawn } from 'node:child_process'
import { connect, createServer } from 'node:net'

const [proxySocket = '', port = '', program = '', ...args] = process.argv.slice(1)
const server = createServer((inward) => {
  const outward = connect(proxySocket)
  inward.on('error', () => outward.destroy())
  outward.on('error', () => inward.destroy())
  inward.pipe(outward).pipe(inward)
})
server.listen(Number(port), '127.0.0.1', () => {
  const child = spawn(program, args, { stdio: 'inherit' })
  child.on('error', (error) => {
    console.error(error.message)
    process.exit(127)
  })
  child.on('exit', (code) => process.exit(code ?? 137))
})

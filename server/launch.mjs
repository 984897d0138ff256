// What every npm script runs. Plain JavaScript without dependencies: on a fresh checkout it starts under whatever Node
// the machine has, before anything is installed.
import { fileURLToPath } from 'node:url'
import * as commands from './launch/commands.mjs'
import { ensureInstalled } from './launch/install.mjs'
import { fail } from './launch/process.mjs'
import { announceStart, start } from './launch/start.mjs'

const known = { start, ...commands }

process.chdir(fileURLToPath(new URL('..', import.meta.url)))
const [name = 'start', ...args] = process.argv.slice(2)
if (!Object.hasOwn(known, name)) fail(`Unknown command "${name}". There are: ${Object.keys(known).join(', ')}.`, 64)
if (name === 'start') announceStart()
await ensureInstalled()
const code = await known[name](args)
if (code) process.exitCode = code // the server may have set its own

// Entry point of every npm script. Plain JavaScript without dependencies, because on a fresh checkout it runs before anything is installed, on
// whatever Node version the machine has.
import { fileURLToPath } from 'node:url'
import * as commands from './platform/launch/commands.mjs'
import { ensureInstalled } from './platform/launch/install.mjs'
import { fail } from './platform/launch/process.mjs'
import { announceStart, start } from './platform/launch/start.mjs'

const known = { start, ...commands }

process.chdir(fileURLToPath(new URL('..', import.meta.url)))
const [name = 'start', ...args] = process.argv.slice(2)
if (!Object.hasOwn(known, name)) fail(`Unknown command "${name}". Available commands: ${Object.keys(known).join(', ')}.`, 64)
if (name === 'start') announceStart()
await ensureInstalled()
const code = await known[name](args)
if (code) process.exitCode = code // keeps an exit code that the server has already set

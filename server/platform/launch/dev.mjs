// Run by `npm run dev`. Runs the API, restarted on changes, behind Vite's development server, which updates the console on changes.
import { spawn } from 'node:child_process'
import { makeEnvironmentFile } from './environment.mjs'

makeEnvironmentFile()
const url = 'http://localhost:5173' // cookies, origin checks and links must match the URL in the browser
const programs = [
  ['--watch', '--watch-preserve-output', 'server/main.ts'],
  ['node_modules/vite/bin/vite.js', 'web'],
].map((args) =>
  spawn(process.execPath, ['--env-file-if-exists=.env', ...args], { stdio: 'inherit', env: { ...process.env, SERVER_URL: url } }),
)
const stop = () => programs.forEach((program) => program.kill())
for (const program of programs) program.on('exit', stop)
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, stop)

import escapeHtml from 'escape-html'
import { createHash } from 'node:crypto'
import type { FastifyReply } from 'fastify'

const style = ':root{color-scheme:light dark}body{font:1rem/1.5 system-ui,sans-serif;max-width:36rem;margin:15vh auto;padding:0 1.5rem}'
const styleHash = createHash('sha256').update(style).digest('base64')
const policy = `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

/** Sends an error page (400) for a request that must not be redirected. The page contains no scripts, links or forms. */
export function sendFaultPage(reply: FastifyReply, fault: string): FastifyReply {
  return reply.code(400).type('text/html; charset=utf-8').header('content-security-policy', policy).send(page(fault))
}

const page = (fault: string): string => `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>Cannot authorize</title><meta name="viewport" content="width=device-width"><style>${style}</style></head>
<body><h1>This request cannot be trusted</h1><p>${escapeHtml(fault)}</p><p>Access was not granted. Close this page, and start again from the command line.</p></body>
</html>
`

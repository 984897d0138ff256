import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { root } from '../../support/sources.ts'

it('loads OpenTelemetry only if it is enabled', () => {
  const folder = mkdtempSync(join(tmpdir(), 'snug-tracing-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const script = `
    import { registerHooks } from 'node:module'
    const loaded = new Set()
    registerHooks({ load: (url, context, next) => (loaded.add(url), next(url, context)) })
    const { readConfig } = await import('./server/platform/config/config.ts')
    const { openServices } = await import('./server/open-services.ts')
    const { createApp } = await import('./server/app.ts')
    const { openLog } = await import('./server/platform/http/log.ts')
    const counted = async (env) => {
      const config = readConfig({ SERVER_URL: 'http://localhost', JWT_SECRET: 'a secret for tests that is long enough', ...env })
      const services = await openServices(config, openLog('info', () => {}))
      const app = await createApp(services)
      await app.inject('/api/v1/version')
      await services.database.close()
      return [...loaded].filter((url) => url.includes('@opentelemetry')).length
    }
    const off = await counted({ DATA_DIR: process.argv[1] + '/off' })
    const on = await counted({ DATA_DIR: process.argv[1] + '/on', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' })
    console.log(JSON.stringify([loaded.size > 500, off, on > 20]))
    process.exit()`
  const args = ['--input-type=module', '--eval', script, folder]
  expect(JSON.parse(execFileSync(process.execPath, args, { cwd: root, encoding: 'utf8' }))).toEqual([true, 0, true])
})

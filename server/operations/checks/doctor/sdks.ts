import type { EntityManager } from '@mikro-orm/sql'
import type { Config } from '../../../platform/config/config.ts'
import { sandboxProblem, sandboxWarning } from '../../../platform/sandbox/run.ts'
import { SdkInstall } from '../../../analysis/sdks/entity.ts'
import { isUsable } from '../../../analysis/sdks/ready.ts'
import { titleOf } from '../../../analysis/sdks/service.ts'
import type { Check } from './check.ts'

/** Checks which SDKs are installed, and whether they are usable on this machine. */
export async function checkSdks(config: Config, em: EntityManager): Promise<Check[]> {
  const installs = await em.find(SdkInstall, {}, { orderBy: { kind: 'asc', version: 'asc' } })
  if (!config.SCORING_ENABLED)
    return [{ name: 'SDKs', status: 'ok', message: 'Versions are not analyzed on this server (SCORING_ENABLED=false).' }]
  if (installs.length === 0)
    return [{ name: 'SDKs', status: 'ok', message: 'No SDK is installed: the built-in engine analyzes all versions.' }]
  return Promise.all(installs.map((install) => checkSdk(config, install)))
}

async function checkSdk(config: Config, install: SdkInstall): Promise<Check> {
  const name = titleOf(install)
  const check = { name: 'SDKs' }
  if (install.status === 'failed') {
    const message = `Installing ${name} failed: ${(install.errorMessage ?? '').replaceAll('\n', ' ')}`
    return { ...check, status: 'warning', message, advice: 'Install it again or remove it at /admin/sdks.' }
  }
  if (install.status !== 'ready') return { ...check, status: 'ok', message: `${name} is being installed (${install.status}).` }
  if (await isUsable(config, install)) {
    return { ...check, status: 'ok', message: `${name} is ready${install.isDefault ? ' and the default' : ''}.` }
  }
  const advice = 'Share DATA_DIR/sdks between the instances, or install it again at /admin/sdks.'
  return { ...check, status: 'warning', message: `${name} is installed, but not on this machine or not for its platform.`, advice }
}

/** Checks that the configured sandbox works. `em` is null if it is unknown whether an SDK is installed. */
export async function checkSandbox(config: Config, em: EntityManager | null): Promise<Check[]> {
  const check = { name: 'sandbox' }
  if (!config.SCORING_ENABLED || !em || (await em.count(SdkInstall, { status: 'ready' })) === 0) {
    const setting = config.SCORING_SANDBOX === undefined ? 'not set' : config.SCORING_SANDBOX
    return [{ ...check, status: 'ok', message: `SCORING_SANDBOX is ${setting}; without an SDK, it is not used.` }]
  }
  const problem = await sandboxProblem(config)
  if (problem !== null) return [{ ...check, status: 'failed', message: problem }]
  const warning = await sandboxWarning(config)
  if (warning !== null) return [{ ...check, status: 'warning', message: warning }]
  return [{ ...check, status: 'ok', message: `Programs of SDKs run in the sandbox ${config.SCORING_SANDBOX}.` }]
}

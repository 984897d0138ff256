import type { CDPSession, Page } from 'playwright-core'

/** A passkey of the virtual authenticator, as the DevTools protocol describes it. */
export type VirtualCredential = Awaited<ReturnType<VirtualAuthenticator['credentials']>>[number]

/** An authenticator of the browser that always verifies its user, in place of the device and its dialogs. */
export class VirtualAuthenticator {
  private readonly session: CDPSession
  private readonly authenticatorId: string

  private constructor(session: CDPSession, authenticatorId: string) {
    this.session = session
    this.authenticatorId = authenticatorId
  }

  /** Adds an authenticator to a page. With `answers: false`, it ignores requests until `answer` is called. */
  static async add(page: Page): Promise<VirtualAuthenticator> {
    const session = await page.context().newCDPSession(page)
    await session.send('WebAuthn.enable')
    const { authenticatorId } = await session.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
        automaticPresenceSimulation: true,
      },
    })
    return new VirtualAuthenticator(session, authenticatorId)
  }

  /** Returns the passkeys that the authenticator stores. */
  async credentials() {
    const { credentials } = await this.session.send('WebAuthn.getCredentials', { authenticatorId: this.authenticatorId })
    return credentials
  }

  /** Stores a passkey, such as a copy of another authenticator's. */
  async store(credential: VirtualCredential): Promise<void> {
    await this.session.send('WebAuthn.addCredential', { authenticatorId: this.authenticatorId, credential })
  }

  /** Sets whether the user answers the requests of pages. Without an answer, requests stay open. */
  async setAnswers(enabled: boolean): Promise<void> {
    await this.session.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId: this.authenticatorId, enabled })
  }

  /** Sets whether the user passes the check of the PIN, fingerprint or face. */
  async setVerified(isUserVerified: boolean): Promise<void> {
    await this.session.send('WebAuthn.setUserVerified', { authenticatorId: this.authenticatorId, isUserVerified })
  }
}

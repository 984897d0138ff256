import { Migration } from '@mikro-orm/migrations'

export class Migration20261128000602_trusted_second_factors extends Migration {
  override up() {
    this.addSql('alter table `oidc_providers` add column `trusts_second_factor` integer not null default false;')
  }
}

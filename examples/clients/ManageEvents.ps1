# Restarts or redeploys a VM, or acknowledges an event, with Invoke-RestMethod.
#   ManageEvents.ps1 restart web-0
#   ManageEvents.ps1 redeploy web-0
#   ManageEvents.ps1 acknowledge web-0 EVENT
# With -Arm, it sends Azure Resource Manager requests instead of control API requests:
#   ManageEvents.ps1 restart web-0 -Arm -Subscription ID -ResourceGroup demo
# Set $env:FOREWARN_URL to the control plane's address, and $env:FOREWARN_TOKEN to a
# token.
# Written for Windows PowerShell 5.1 and PowerShell 7. Not executed yet, only parsed.
param(
    [Parameter(Mandatory = $true)]
    [ValidateSet('restart', 'redeploy', 'acknowledge')]
    [string]$Action,

    [Parameter(Mandatory = $true)]
    [string]$VM,

    [string]$EventId,
    [switch]$Arm,
    [string]$Subscription = '00000000-0000-0000-0000-000000000000',
    [string]$ResourceGroup = 'demo'
)
$ErrorActionPreference = 'Stop'

if (-not $env:FOREWARN_TOKEN) {
    throw 'FOREWARN_TOKEN is not set; create one: forewarn token create NAME --role operator'
}
if ($Action -eq 'acknowledge' -and -not $EventId) {
    throw 'the id of the event is missing; usage: ManageEvents.ps1 acknowledge VM EVENT'
}

$control = if ($env:FOREWARN_URL) { $env:FOREWARN_URL } else { 'http://127.0.0.1:8255' }
$group = "$control/subscriptions/$Subscription/resourceGroups/$ResourceGroup"
$machine = "$group/providers/Microsoft.Compute/virtualMachines/$VM"
$scheduledEvents = "$machine/providers/Microsoft.Maintenance/scheduledevents"

$controlApi = @{
    restart     = "$control/v1/vms/$VM/restart"
    redeploy    = "$control/v1/vms/$VM/redeploy"
    acknowledge = "$control/v1/events/$EventId/approve"
}
$resourceManager = @{
    restart     = "$machine/restart?api-version=2024-07-01"
    redeploy    = "$machine/redeploy?api-version=2024-07-01"
    acknowledge = "$scheduledEvents/$EventId/acknowledge?api-version=2025-11-01"
}

$uri = if ($Arm) { $resourceManager[$Action] } else { $controlApi[$Action] }
$headers = @{ Authorization = "Bearer $env:FOREWARN_TOKEN" }
$request = @{ Method = 'Post'; Uri = $uri; Headers = $headers }
$response = Invoke-RestMethod @request -ContentType 'application/json' -Body '{}'

# Azure Resource Manager returns 202 without a body. The operation ends when its event
# ends.
if ($response) { $response | ConvertTo-Json -Depth 10 } else { "$Action of $VM accepted" }
